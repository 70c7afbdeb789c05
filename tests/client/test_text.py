"""Values as texts, and new rows of a page."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.client.text import json_line, json_value, new_rows, text, tsv, visible
from evertable.protocol.page import Page, Row
from evertable.schema.columns import Column, ColumnType, Kind

NUMBER = Column("n", ColumnType(Kind.LONG))


def page(*rows: Row, columns: tuple[Column, ...] = (NUMBER,)) -> Page:
    return Page("t", 1, 1, 1, len(rows), 0, columns, rows)


@pytest.mark.parametrize(
    ("value", "written", "shown"),
    [
        (None, None, ""),
        (True, True, "true"),
        (7, 7, "7"),
        (2**53, "9007199254740992", "9007199254740992"),
        (-(2**63), "-9223372036854775808", "-9223372036854775808"),
        (0.1, 0.1, "0.1"),
        (Decimal("0E-10"), "0.0000000000", "0.0000000000"),
        (date(1, 2, 3), "0001-02-03", "0001-02-03"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z"),
        ("a\tb", "a\tb", "a\tb"),
    ],
)
def test_values(value: Any, written: Any, shown: str) -> None:
    assert (json_value(value), text(value)) == (written, shown)
    assert type(json_value(value)) is type(written)


def test_lines() -> None:
    """One line each, whatever is in the row."""
    row = (1, "a\tb\n\r\\é", None)
    columns = tuple(Column(name, ColumnType(Kind.STRING)) for name in ("n", "s", "x"))
    assert tsv(row) == "1\ta\\tb\\n\\r\\\\é\t"
    line = json_line(page(row, columns=columns), row)
    assert "\n" not in line
    assert json.loads(line) == {"n": 1, "s": "a\tb\n\r\\é", "x": None}


@given(st.text(st.characters(codec="utf-8")))
def test_lines_can_be_decoded_and_are_safe_for_a_terminal(value: str) -> None:
    """Escapes are those of JSON, in TSV too."""
    column = Column("s", ColumnType(Kind.STRING))
    cell, line = tsv((value,)), json_line(page((value,), columns=(column,)), (value,))
    assert json.loads(line) == {"s": value}
    assert json.loads('"' + cell.replace('"', '\\"') + '"') == value
    for written in (cell, line, visible(value)):
        assert [char for char in written if category(char) in ("Cc", "Cs", "Zl", "Zp")] == []
        assert set(written) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") == set()


def test_visible_characters_are_unchanged() -> None:
    """Scripts, joined emoji and unusual spaces stay; only invisible characters are escaped."""
    family = "\U0001f469\u200d\U0001f467 می\u200cخواهم 東京\u3000\u00a0é C:\\dir"
    assert visible(family) == family
    assert visible("a\x1b[2J\u202eb\U000e0041\n") == "a\\u001b[2J\\u202eb\\udb40\\udc41\\n"


def test_all_rows_of_a_first_page_are_new() -> None:
    assert new_rows(None, page((1,), (2,))) == [(1,), (2,)]


def test_other_columns_make_all_rows_new() -> None:
    """After a swap the same values may mean something else."""
    assert new_rows(page((1,)), page((1,), columns=(Column("m", NUMBER.type),))) == [(1,)]


def test_rows_that_moved_are_not_new() -> None:
    assert new_rows(page((1,), (2,)), page((2,), (3,), (1,))) == [(3,)]


numbers = st.lists(st.integers(0, 3))


@given(numbers, numbers)
def test_equal_rows_are_counted(old: list[int], new: list[int]) -> None:
    fresh = [number for (number,) in new_rows(page(*((n,) for n in old)), page(*((n,) for n in new)))]
    assert all(fresh.count(n) == max(0, new.count(n) - old.count(n)) for n in range(4))
