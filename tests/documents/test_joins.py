"""docs/JOINS.md is correct: the reference computes each result of the page from its records."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.markdown import ROOT
from tests.reference.joins import Row, join

from evertable.config import Config, JoinType, Source, load
from evertable.schema.columns import Column, Kind, RecordField
from evertable.schema.joins import joined_columns

DOCUMENT = (ROOT / "docs" / "JOINS.md").read_text()
SOURCES = ("users", "accounts")
PLACE = ("timestamp", "partition", "offset")

_PARTS = re.compile(
    r"^```yaml\n(?P<yaml>(?:[^`\n]*\n)+)```$"
    r"|^\*\*(?P<label>[a-z]+)\*\*\n\n(?P<table>(?:\|.*\n)+)"
    r"|^## (?P<title>.+)$",
    re.MULTILINE,
)

Cells = list[dict[str, str]]


@dataclass(frozen=True)
class Example:
    """A result of the page, with the configuration and all records before it."""

    name: str
    yaml: str
    records: dict[str, Cells]
    type: JoinType
    head: tuple[str, ...]
    rows: Cells


def examples() -> list[Example]:
    """Returns the examples in the order of the page."""
    found: list[Example] = []
    records: dict[str, Cells] = {}
    title, yaml = "", ""
    for part in _PARTS.finditer(DOCUMENT):
        if part["title"]:
            title = part["title"]
        elif part["yaml"]:
            yaml = part["yaml"]
        elif part["label"] in SOURCES:
            records = {**records, part["label"]: cells(part["table"])[1]}
        else:
            head, rows = cells(part["table"])
            type_ = JoinType(part["label"])
            found.append(Example(f"{title}: {type_} {len(found)}", yaml, records, type_, head, rows))
    return found


def cells(table: str) -> tuple[tuple[str, ...], Cells]:
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return tuple(head), [dict(zip(head, line, strict=True)) for line in lines]


def configured(yaml: str, folder: Path) -> Config:
    file = folder / "evertable.yaml"
    file.write_text(yaml)
    return load(file, {})


def milliseconds(clock: str) -> int:
    return int(datetime.fromisoformat(f"2026-11-16T{clock}:00Z").astimezone(UTC).timestamp() * 1000)


def value(column: Column, cell: str) -> Any:
    """Parses a cell: ``null`` is no value."""
    if cell == "null":
        return None
    match column.type.kind:
        case Kind.DOUBLE:
            return float(cell)
        case Kind.TIMESTAMP:
            return milliseconds(cell)
        case kind:
            assert kind is Kind.STRING
            return cell


def rows_of(source: Source, records: Cells) -> dict[int, Row]:
    """Returns typed rows by id."""
    found: dict[int, Row] = {}
    for record in records:
        names = [column.name for column in source.columns if column.record_field is None]
        assert list(record) == [*PLACE, *names], "the page shows other columns than the configuration has"
        timestamp = milliseconds(record["timestamp"])
        values = [
            timestamp if column.record_field is RecordField.TIMESTAMP else value(column, record[column.name])
            for column in source.columns
        ]
        key = values[[column.name for column in source.columns].index(source.key)]
        row = Row(int(record["partition"]), int(record["offset"]), timestamp, key, tuple(values))
        assert row.id not in found, "no two records of a topic have one place"
        found[row.id] = row
    return found


def result(example: Example, config: Config) -> Counter[tuple[Any, ...]]:
    """Computes the joined table with the reference."""
    sides = {source.name: rows_of(source, example.records[source.name]) for source in (config.left, config.right)}
    left, right = sides[config.left.name], sides[config.right.name]
    table: Counter[tuple[Any, ...]] = Counter()
    for pair in join(example.type, left.values(), right.values()):
        met = dict(zip((config.left.name, config.right.name), pair, strict=True))
        row: list[Any] = []
        for shown in joined_columns(example.type, config.left, config.right):
            id_ = met[shown.source]
            if id_ is None:
                row.append(None)  # the key comes from the side that every row has
            elif shown.column is None:
                row.append(sides[shown.source][id_].timestamp)
            else:
                source = config.sources[shown.source]
                row.append(sides[shown.source][id_].values[source.columns.index(shown.column)])
        table[tuple(row)] += 1
    return table


def shown(example: Example, config: Config) -> Counter[tuple[Any, ...]]:
    """Returns the joined table of the page."""
    columns = joined_columns(example.type, config.left, config.right)
    ts = Column.parse("ts", "timestamp")
    return Counter(tuple(value(c.column or ts, row[c.name]) for c in columns) for row in example.rows)


EXAMPLES = examples()


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_a_result_is_computed_from_the_records(example: Example, tmp_path: Path) -> None:
    config = configured(example.yaml, tmp_path)
    names = tuple(column.name for column in joined_columns(example.type, config.left, config.right))
    assert example.head == names
    assert shown(example, config) == result(example, config)


def test_every_join_is_shown_for_the_same_records() -> None:
    of_the_records = [example.type for example in EXAMPLES if example.name.startswith("The records: ")]
    assert of_the_records == list(JoinType)


def test_every_table_of_records_and_results_is_tested() -> None:
    """A label with a typo would leave its table unchecked."""
    labels = re.findall(r"^\*\*([^*]+)\*\*$", DOCUMENT, re.MULTILINE)
    tested = [part for part in _PARTS.finditer(DOCUMENT) if part["label"]]
    assert len(labels) == len(tested)
    tables = len(re.findall(r"^\|(?:---\|)+$", DOCUMENT, re.MULTILINE))
    assert tables == len(tested) + 2  # which join to choose, and what viewers see


def test_the_order_of_arrival_changes_nothing(tmp_path: Path) -> None:
    """All results are the same for the records in reverse."""
    for example in EXAMPLES:
        config = configured(example.yaml, tmp_path)
        turned = {name: records[::-1] for name, records in example.records.items()}
        assert result(replace(example, records=turned), config) == result(example, config)


def test_the_names_of_the_as_of_wiring(tmp_path: Path) -> None:
    config = configured(EXAMPLES[-1].yaml, tmp_path)
    assert dict(config.tables) == {"users": "user", "accounts": "account", "joined": "user_account"}
    assert config.join.type is JoinType.ASOF
    assert all(source.columns[-1].record_field is RecordField.TIMESTAMP for source in config.sources.values())
