"""A filter is bound to a table's columns; what does not fit is an error, or null after a swap."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from tests.views.naive import Naive
from tests.views.snapshots import ChunkedSnapshot
from tests.views.strategies import Case, cases

from evertable.errors import FilterError
from evertable.schema.columns import Column
from evertable.views.filters import BoundFilter, bind, parse
from evertable.views.query import BoundQuery


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column.parse(name, spelled) for name, spelled in types.items())


COLUMNS = columns(
    name="string", age="long", active="boolean", born="date", seen="timestamp", notes="json", score="decimal(4,1)"
)


def bound(text: str, to: tuple[Column, ...] = COLUMNS, missing_ok: bool = False) -> BoundFilter:
    tree = parse(text)
    assert tree is not None
    return bind(tree, to, missing_ok)


def passing(where: BoundFilter, to: tuple[Column, ...], *rows: tuple[Any, ...]) -> list[int]:
    slots: list[int] = BoundQuery(where=where).order(ChunkedSnapshot(to, rows)).tolist()
    return slots


@pytest.mark.parametrize(
    ("text", "position", "what"),
    [
        ("Age = 1", 0, "expected a column, found 'Age'; did you mean 'age'?"),
        (
            "age > 1 and zzz = 1",
            12,
            "expected a column, found 'zzz'; known are name, age, active, born, seen, notes, score",
        ),
        ('name = "Nam"', 7, "expected a column, or text in single quotes, found 'Nam'; did you mean 'name'?"),
        ("age = 'x'", 6, "'age' is long: expected a number, found the text 'x'"),
        ("age in (1, true)", 11, "'age' is long: expected a number, found 'true'"),
        ("age between 1 and 'x'", 18, "'age' is long: expected a number, found the text 'x'"),
        ("score = '1.5'", 8, "'score' is decimal(4,1): expected a number, found the text '1.5'"),
        ("name = 5", 7, "'name' is string: expected a text in single quotes, found '5'"),
        ("active = 1", 9, "'active' is boolean: expected true or false, found '1'"),
        ("born > '2026-02-30'", 7, "'born' is date: expected a date such as '2026-11-15', found the text '2026-02-30'"),
        ("born > '20260201'", 7, "'born' is date: expected a date such as '2026-11-15', found the text '20260201'"),
        (
            "seen > 'now'",
            7,
            "'seen' is timestamp: expected a time such as '2026-11-15T20:07:28Z', found the text 'now'",
        ),
        ("seen > 5", 7, "'seen' is timestamp: expected a time such as '2026-11-15T20:07:28Z', found '5'"),
        (
            "notes = '{}'",
            8,
            "'notes' is json: expected contains, starts with, ends with or is null, found the text '{}'",
        ),
        ("age contains '1'", 0, "'age' is long: expected a text column before 'contains'"),
        ("age = name", 6, "'age' is long and 'name' is string: expected types that compare"),
        ("born = seen", 7, "'born' is date and 'seen' is timestamp: expected types that compare"),
        ("notes = notes", 8, "'notes' is json and 'notes' is json: expected types that compare"),
        (f"age = '{'x' * 99}'", 6, f"'age' is long: expected a number, found the text '{'x' * 29}…"),
    ],
)
def test_what_does_not_fit_is_an_error_at_its_place(text: str, position: int, what: str) -> None:
    with pytest.raises(FilterError) as refused:
        bound(text)
    assert (refused.value.position, refused.value.what) == (position, what)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-15T25:00",
        "2026-11-15T10:00:00.1234567",
        "2026-11-15T",
        "0000-01-01",
        "2026-11-15T10:00+25:00",
        "٢٠٢٦-11-15",
    ],
)
def test_what_only_looks_like_a_time_is_an_error(text: str) -> None:
    with pytest.raises(FilterError, match="expected a time such as"):
        bound(f"seen = '{text}'")


def test_a_time_at_the_limits_of_the_calendar_may_have_a_zone() -> None:
    """Its UTC time is outside of Python's datetime, but still compares."""
    assert bound("seen between '0001-01-01T00:00+14:00' and '9999-12-31T23:59-14:00'")
    assert bound("seen in ('0001-01-01T00:00+14:00', '9999-12-31T23:59-14:00')")


def test_longs_and_decimals_compare_exactly() -> None:
    """These would be equal if they were compared as doubles."""
    now = columns(a="long", b="long", c="decimal(38,1)", d="decimal(38,20)", e="int")
    one, more = 2**53, Decimal("0.00000000000000000001")
    row = (one, one + 1, Decimal(one + 1), Decimal("1.00000000000000000001"), 1)
    for text in ("a < b", "b = c", "a < c", "c > a", "e < d", "d > e", "d != e", "d < c"):
        assert passing(bound(text, now), now, row) == [0], text
    assert passing(bound("d = e", now), now, (*row[:3], 1 - more, 1), (*row[:3], Decimal(1), 1)) == [1]


def test_a_decimal_equals_the_double_of_the_same_digits() -> None:
    """A decimal is compared as the nearest double."""
    now = columns(a="decimal(10,2)", b="double", c="decimal(38,38)")
    cents = [Decimal(i * 7919) / 100 for i in range(-500, 500)]
    rows = [(value, float(value), value / 10**9) for value in cents]
    assert passing(bound("a = b and b = a", now), now, *rows) == list(range(len(rows)))
    assert passing(bound("b > c", now), now, *rows) == [i for i, value in enumerate(cents) if value > 0]


def test_a_long_compares_to_a_double_as_one() -> None:
    now = columns(a="long", b="double")
    assert passing(bound("a = b", now), now, (2**53 + 1, 2.0**53), (2**63 - 1, 2.0**63), (1, 1.5)) == [0, 1]


def test_after_a_swap_a_missing_column_is_all_null() -> None:
    where = bound("age > 5 or age is null and name = 'b'", columns(name="string"), missing_ok=True)
    assert where.missing == ("age",)
    assert passing(where, columns(name="string"), ("a",), ("b",), (None,)) == [1]


def test_after_a_swap_a_column_of_another_type_is_all_null_everywhere() -> None:
    """It is null even in predicates that would fit its new type."""
    now = columns(age="string")
    for text in ("age > 5 or age is null", "age is null or age > 5"):
        where = bound(text, now, missing_ok=True)
        assert where.missing == ("age",)
        assert passing(where, now, ("7",), (None,)) == [0, 1]
    assert bound("age is null", now, missing_ok=True).missing == ()


def test_the_missing_one_of_two_compared_columns_is_named() -> None:
    now = columns(age="long", name="string")
    assert bound("age > limit", now, missing_ok=True).missing == ("limit",)
    assert bound("limit > age", now, missing_ok=True).missing == ("limit",)
    assert bound("age between floor and limit", now, missing_ok=True).missing == ("floor", "limit")
    assert bound("age > name", now, missing_ok=True).missing == ("age", "name")
    assert bound("floor > 1 and floor < limit", now, missing_ok=True).missing == ("floor", "limit")


def test_the_other_end_of_a_range_with_a_missing_column_still_counts() -> None:
    """A range is two comparisons, as in SQL."""
    now = columns(age="long")
    where = bound("age not between 5 and gone", now, missing_ok=True)
    assert passing(where, now, (1,), (7,), (None,)) == [0]


def test_nothing_is_missing_where_all_fits() -> None:
    assert bound("age > 5 and name contains 'x'", missing_ok=True).missing == ()


@settings(max_examples=300)
@given(cases())
def test_a_filter_on_a_table_without_some_columns_sees_nulls_in_them(case: Case) -> None:
    """The result is that of plain Python if every such value is null."""
    if case.where is not None:
        left = case.columns[1:]
        rows = [row[1:] for row in case.rows]
        where = bind(case.where, left, missing_ok=True)
        assert set(where.missing) <= {case.columns[0].name}
        snapshot = ChunkedSnapshot(left, rows, chunk=case.chunk)
        assert BoundQuery(where=where).order(snapshot).tolist() == Naive(left).order(
            rows, (), case.where, newest_first=False
        )
