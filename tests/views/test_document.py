"""docs/FILTERS.md agrees with the code: every example is evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.views.snapshots import ChunkedSnapshot

from evertable.errors import FilterError
from evertable.schema.columns import Column, Kind
from evertable.views.filters.lexer import KEYWORDS, MAX_EXPONENT_DIGITS
from evertable.views.filters.parser import MAX_DEPTH, MAX_PART_CHARS
from evertable.views.query import Query
from evertable.views.view import MAX_FILTER_CHARS, View

DOCUMENT = (Path(__file__).parents[2] / "docs" / "FILTERS.md").read_text()

_READ: dict[Kind, Callable[[str], Any]] = {
    Kind.BOOLEAN: lambda text: text == "true",
    Kind.INT: int,
    Kind.LONG: int,
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.DATE: date.fromisoformat,
    Kind.TIMESTAMP: datetime.fromisoformat,
}


def tables() -> list[list[list[str]]]:
    """Returns the cells of all tables of the document, with headings."""
    found = re.findall(r"(?:^\|.*\n)+", DOCUMENT, re.MULTILINE)
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in each.splitlines()] for each in found]


def example_rows() -> ChunkedSnapshot:
    head, _, *lines = next(table for table in tables() if table[0][0] == "row")
    columns = [Column.parse(name, spec) for name, spec in (cell.strip("`").split(" `") for cell in head[1:])]
    return ChunkedSnapshot(columns, [_row(columns, line[1:]) for line in lines], first=1)  # row 1 is slot 1


def _row(columns: list[Column], cells: list[str]) -> tuple[Any, ...]:
    pairs = zip(columns, cells, strict=True)
    return tuple(None if cell == "null" else _READ.get(column.type.kind, str)(cell) for column, cell in pairs)


def examples() -> list[tuple[str, str]]:
    """Returns each filter of the document, and the rows that it shows."""
    found = [(m[1], m[2]) for m in re.finditer(r"`([^`]+)` shows row (\d)", DOCUMENT)]
    for head, _, *lines in tables():
        if "rows" in head:
            at = head.index("example" if "example" in head else "filter")
            found += [(line[at].strip("`"), line[head.index("rows")]) for line in lines]
    return found


def shown(text: str) -> str:
    snapshot = example_rows()
    return " ".join(map(str, Query.parse(View(filter=text)).bind(snapshot.columns).order(snapshot).tolist()))


@pytest.mark.parametrize(("text", "rows"), examples(), ids=[text for text, _ in examples()])
def test_an_example_shows_the_documented_rows(text: str, rows: str) -> None:
    assert shown(text) == rows


def test_there_are_examples_of_everything() -> None:
    """Every keyword is in an example."""
    texts = " ".join(text.lower() for text, _ in examples())
    assert {word for word in KEYWORDS if not re.search(rf"\b{word}\b", texts)} == set()
    assert len(examples()) >= 30


def test_the_first_filter_fits_the_rows() -> None:
    text = re.findall(r"`([^`]+)`", DOCUMENT)[0]
    assert shown(text) == "1"


def test_equal_null_is_rejected() -> None:
    with pytest.raises(FilterError, match="'is null' finds nulls"):
        shown("age = null")


def test_every_type_has_a_line() -> None:
    types = next(table for table in tables() if table[0][0] == "column")
    named = {name.split("(")[0] for line in types[2:] for name in re.findall(r"`([^`]+)`", line[0])}
    assert named == set(Kind)


def test_limits_are_those_of_the_code() -> None:
    assert f"at most {MAX_FILTER_CHARS:,} characters" in DOCUMENT
    assert f"at most {MAX_DEPTH} deep" in DOCUMENT
    assert f"at most {MAX_PART_CHARS} characters" in DOCUMENT
    assert f"at most {MAX_EXPONENT_DIGITS} digits" in DOCUMENT
