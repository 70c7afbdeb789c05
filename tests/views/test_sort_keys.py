"""Rows have the order that a view requests; test_views.py tests pages of random tables."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.changelog.strategies import texts
from tests.views.snapshots import ChunkedSnapshot

from evertable.errors import ColumnNotFoundError
from evertable.schema.columns import Column
from evertable.views.query import BoundQuery, Query
from evertable.views.view import View


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column.parse(name, spelled) for name, spelled in types.items())


def named(*names: str) -> tuple[Column, ...]:
    return tuple(Column.parse(name, "long") for name in names)


def order(
    snapshot: ChunkedSnapshot, sort: tuple[str, ...] = (), where: str = "", newest_first: bool = False
) -> list[int]:
    query = Query.parse(View(sort=sort, filter=where, newest_first=newest_first))
    slots: list[int] = query.bind(snapshot.columns).order(snapshot).tolist()
    return slots


def ordered(kind: str, values: list[Any], descending: bool = False, newest_first: bool = False) -> list[int]:
    snapshot = ChunkedSnapshot(columns(x=kind), [(value,) for value in values])
    return order(snapshot, ("-x" if descending else "x",), newest_first=newest_first)


def bound(sort: list[str], to: tuple[Column, ...], missing_ok: bool = False) -> BoundQuery:
    return Query(tuple(sort)).bind(to, missing_ok)


def test_sort_entries_name_columns() -> None:
    assert bound(["b", "-a"], named("a", "b")).keys == ((1, False), (0, True))


def test_an_entry_equal_to_a_column_name_is_that_column() -> None:
    """The name may begin with a minus; another minus makes it descending."""
    both = named("x", "-x")
    assert bound(["-x"], both).keys == ((1, False),)
    assert bound(["--x"], both).keys == ((1, True),)
    assert bound(["x"], both).keys == ((0, False),)


def test_a_column_counts_once() -> None:
    """The second entry has no effect."""
    assert bound(["a", "-a", "a"], named("a")).keys == ((0, False),)


def test_the_first_of_columns_with_one_name_counts() -> None:
    assert bound(["a"], named("a", "a")).keys == ((0, False),)


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ("balanec", "There is no column 'balanec' to sort by; did you mean 'balance'?"),
        ("-balanec", "There is no column 'balanec' to sort by; did you mean 'balance'?"),
        ("zzz", "There is no column 'zzz' to sort by; known are balance, age"),
        ("-", "There is no column '' to sort by; known are balance, age"),
        ("", "There is no column '' to sort by; known are balance, age"),
    ],
)
def test_an_entry_that_names_no_column_is_an_error(entry: str, what: str) -> None:
    with pytest.raises(ColumnNotFoundError) as rejected:
        bound([entry], named("balance", "age"))
    assert rejected.value.what == what


def test_after_a_swap_entries_that_name_no_column_are_reported() -> None:
    found = bound(["-gone", "a", "gone"], named("a"), missing_ok=True)
    assert (found.keys, found.missing) == (((0, False),), ("gone",))


def test_without_sort_rows_are_ordered_by_arrival() -> None:
    snapshot = ChunkedSnapshot(columns(x="long"), [(1,), (2,), (3,)], first=40)
    assert order(snapshot) == [40, 41, 42]
    assert order(snapshot, newest_first=True) == [42, 41, 40]


def test_ties_are_ordered_by_arrival_or_newest_first() -> None:
    assert ordered("long", [1, 0, 1, 0]) == [1, 3, 0, 2]
    assert ordered("long", [1, 0, 1, 0], descending=True) == [0, 2, 1, 3]
    assert ordered("long", [1, 0, 1, 0], newest_first=True) == [3, 1, 2, 0]
    assert ordered("long", [1, 0, 1, 0], descending=True, newest_first=True) == [2, 0, 3, 1]


def test_nulls_are_last_in_both_directions() -> None:
    assert ordered("string", [None, "b", None, "a"]) == [3, 1, 0, 2]
    assert ordered("string", [None, "b", None, "a"], descending=True) == [1, 3, 0, 2]
    assert ordered("long", [None, 2, None, 1], descending=True, newest_first=True) == [1, 3, 2, 0]


def test_the_least_long_sorts_like_any_other() -> None:
    least, most = -(2**63), 2**63 - 1
    assert ordered("long", [0, most, least, -1]) == [2, 3, 0, 1]
    assert ordered("long", [0, most, least, -1], descending=True) == [1, 0, 3, 2]


def test_both_zeros_tie() -> None:
    assert ordered("double", [0.0, -0.0, 0.0]) == [0, 1, 2]
    assert ordered("float", [0.0, -0.0, 0.0], newest_first=True) == [2, 1, 0]


def test_text_sorts_by_code_point() -> None:
    """Capitals are before small letters, astral characters after the basic plane, shorter texts before longer ones."""
    assert ordered("string", ["b", "B", "\uffff", "😀", "a\0", "a", ""]) == [6, 1, 5, 4, 0, 2, 3]


def test_a_filter_is_applied_before_the_sort() -> None:
    columns_ = columns(x="long", name="string")
    snapshot = ChunkedSnapshot(columns_, [(3, "a"), (1, "b"), (2, "a"), (None, "a"), (0, None)], first=10, chunk=2)
    assert order(snapshot, ("x",), "name = 'a'") == [12, 10, 13]
    assert order(snapshot, (), "name = 'a'", newest_first=True) == [13, 12, 10]


def test_few_of_many_rows_may_pass() -> None:
    """Only those rows are taken then, instead of whole columns."""
    columns_ = columns(x="long", name="string")
    rows = [(i % 5, None if i % 3 else f"name {i % 2}") for i in range(300)]
    where = "name ends with '1' and x in (1, 4)"
    slots = order(ChunkedSnapshot(columns_, rows, first=10), ("-x", "name"), where, newest_first=True)
    passing = [i for i, (x, name) in enumerate(rows) if name == "name 1" and x in (1, 4)]
    assert 0 < len(passing) < len(rows) / 8
    assert slots == [i + 10 for i in sorted(passing, key=lambda i: (-rows[i][0], -i))]


def test_each_column_is_read_once() -> None:
    """Reading a column of a joined table is expensive."""
    read: list[int] = []

    class Counting(ChunkedSnapshot):
        def column(self, index: int) -> pa.ChunkedArray:
            read.append(index)
            return super().column(index)

    columns_ = columns(x="long", y="long", unused="long")
    where = "x between 1 and 9 and x != 5 and (x > y or y is null)"
    order(Counting(columns_, [(2, 1, 0), (3, None, 0)]), ("x", "y"), where)
    assert sorted(read) == [0, 1]


def test_an_empty_table_has_an_order() -> None:
    assert ordered("string", []) == []
    assert ordered("decimal(4,2)", [], newest_first=True) == []


@settings(max_examples=300)
@given(st.lists(st.none() | texts | st.text("aé\0", max_size=20), max_size=40), texts, st.booleans(), st.booleans())
def test_texts_with_a_common_prefix_sort_as_in_python(
    ends: list[str | None], beginning: str, descending: bool, newest_first: bool
) -> None:
    """Most comparisons take eight bytes after the common prefix; the others compare whole texts."""
    values = [None if end is None else beginning + end for end in ends]
    arrived = list(enumerate(values))[:: -1 if newest_first else 1]
    known = [(i, value) for i, value in arrived if value is not None]
    known.sort(key=lambda each: each[1], reverse=descending)  # ties stay as they are, also in reverse
    expected = [i for i, _ in known] + [i for i, value in arrived if value is None]
    assert ordered("string", values, descending, newest_first) == expected


@pytest.mark.parametrize("texts_", [3, 300, 20_000], ids=["few", "many", "all different"])
def test_a_large_sort_is_stable(texts_: int) -> None:
    """Columns of few different texts are sorted by another method; nulls are last in both."""
    draw = random.Random(1)
    choices = [None, *(f"customer {draw.randrange(10**40):040}" for _ in range(texts_))]
    rows = [(draw.choice(choices), i % 7) for i in range(20_000)]
    snapshot = ChunkedSnapshot(columns(x="string", y="long"), rows, chunk=3_000)
    places = {text: i for i, text in enumerate(sorted(filter(None, choices)))}

    def expected(direction: int, *, newest: bool) -> list[int]:
        def key(i: int) -> tuple[bool, int, int]:
            text, number = rows[i]
            return text is None, direction * places.get(text or "", 0), -i if newest else number

        return sorted(range(len(rows)), key=key)

    assert order(snapshot, ("-x", "y")) == expected(-1, newest=False)
    assert order(snapshot, ("x",), newest_first=True) == expected(1, newest=True)


def test_text_columns_may_hold_any_chunks() -> None:
    """They may have none, empty ones, and some that start within a buffer."""
    pieces = pa.array(["skip", "b", None, "a"])
    column = pa.chunked_array([pieces[1:], pieces[:0], pieces[3:]])

    class Given(ChunkedSnapshot):
        def column(self, index: int) -> pa.ChunkedArray:
            return [column][index]

    snapshot = Given(columns(x="string"), [()] * len(column))
    assert order(snapshot, ("x",)) == [2, 3, 0, 1]
