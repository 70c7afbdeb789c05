"""The oracle: computes every table from the records of the topics alone, and compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
from tests.chaos.viewers import TABLES
from tests.reference.records import Reject, SourceRecord, meaning
from tests.serving.inside import reference

from evertable.client import Client
from evertable.config import Config, Source
from evertable.schema.columns import RecordField
from evertable.schema.joins import JoinType

Rows = Counter[tuple[Any, ...]]
SHOWN = 3


def expected(
    config: Config, join: JoinType, columns: Mapping[str, list[str]], held: Callable[[Source], list[SourceRecord]]
) -> dict[str, Rows]:
    """Computes all tables of a wiring with the reference; ``columns`` are the server's, by table."""
    sides, letters = [], []
    for source in (config.left, config.right):
        rows, rejected = _read(source, held(source))
        sides.append(rows)
        letters += rejected
    users, accounts = sides
    return {
        "users_ui": Counter(tuple(row[each] for each in columns["users_ui"]) for row in users),
        "accounts_ui": Counter(tuple(row[each] for each in columns["accounts_ui"]) for row in accounts),
        "final_ui": reference(join, columns["final_ui"], users, accounts),
        "dead_letters": Counter(letters),
    }


def shown(client: Client) -> tuple[dict[str, list[str]], dict[str, Rows]]:
    """Returns the columns and rows of all tables, as the server exports them."""
    tables = {name: client.table(name).to_arrow() for name in TABLES}
    rows = {name: _rows(table) for name, table in tables.items()}
    rows["dead_letters"] = Counter({_letter(row): count for row, count in rows["dead_letters"].items()})
    return {name: table.column_names for name, table in tables.items()}, rows


def differences(wanted: Mapping[str, Rows], found: Mapping[str, Rows]) -> list[str]:
    """Returns a line for each table that differs."""
    return [
        f"{name}: {found[name].total()} rows instead of {wanted[name].total()}; "
        f"missing {_some(wanted[name] - found[name])}; too many {_some(found[name] - wanted[name])}"
        for name in TABLES
        if wanted[name] != found[name]
    ]


def _some(rows: Rows) -> str:
    return f"{rows.total()} {list(rows)[:SHOWN]}"


def _read(source: Source, records: Iterable[SourceRecord]) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """Returns rows by column name, and dead letters."""
    rows, letters = [], []
    names = [column.name for column in source.columns]
    times = [column.name for column in source.columns if column.record_field is RecordField.TIMESTAMP]
    for record in records:
        values = meaning(record, source.columns)
        if isinstance(values, Reject):
            letters.append((source.name, source.topic, record.partition, record.offset, values.condition))
        else:
            rows.append({**dict(zip(names, values, strict=True)), **dict.fromkeys(times, record.timestamp)})
    return rows, letters


def _rows(table: pa.Table) -> Rows:
    columns = [
        each.cast(pa.timestamp("ms", each.type.tz)).cast(pa.int64()) if pa.types.is_timestamp(each.type) else each
        for each in table.columns
    ]
    return Counter(zip(*(column.to_pylist() for column in columns), strict=True))


def _letter(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns the position of a rejected record, and the condition of its rejection."""
    source, topic, partition, offset, _, reason, _ = row
    return source, topic, partition, offset, str(reason).partition(":")[0]
