"""A query is what viewers can share of a view; it is parsed once and bound to each table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evertable.errors import ColumnNotFoundError, FilterError, FilterTooLongError
from evertable.schema.columns import Column
from evertable.tables.bounded import BoundedTable
from evertable.views.query import Query, columns_of
from evertable.views.view import View

COLUMNS = (Column.parse("name", "string"), Column.parse("balance", "double"))
OTHERS = (Column.parse("name", "string"),)


def test_equal_queries_can_be_shared() -> None:
    """Columns, offset, limit and the blanks of a filter do not matter."""
    one = Query.parse(View(sort=("name",), filter="balance > 1", offset=5, columns=("name",)))
    other = Query.parse(View(sort=("name",), filter="balance  >  1.0", limit=3))
    assert one == other
    assert len({one, other}) == 1
    assert one != Query.parse(View(sort=("name",), filter="balance > 1", newest_first=True))


def test_an_invalid_filter_is_an_error_before_there_is_a_table() -> None:
    with pytest.raises(FilterError, match="expected a value"):
        Query.parse(View(filter="balance >"))
    with pytest.raises(FilterTooLongError):
        Query.parse(View(filter=" " * 2_001))


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(ColumnNotFoundError):
        Query.parse(View(sort=("gone",))).bind(COLUMNS)
    with pytest.raises(FilterError):
        Query.parse(View(filter="gone = 1")).bind(COLUMNS)


def test_after_a_swap_missing_columns_are_named_once() -> None:
    query = Query.parse(View(sort=("-balance", "age"), filter="balance > 1 and zip = 2"))
    assert query.bind(OTHERS, missing_ok=True).missing == ("balance", "age", "zip")
    assert query.bind((*COLUMNS, Column.parse("age", "int"), Column.parse("zip", "int")), missing_ok=True).missing == ()


def test_a_query_without_sort_and_filter_is_plain() -> None:
    assert Query.parse(View(filter=" ")).bind(COLUMNS).plain
    assert Query.parse(View(newest_first=True)).bind(COLUMNS).plain
    assert not Query.parse(View(sort=("name",))).bind(COLUMNS).plain
    assert not Query.parse(View(filter="name is null")).bind(COLUMNS).plain


def test_a_query_without_any_of_its_sort_columns_is_plain() -> None:
    assert Query.parse(View(sort=("balance",))).bind(OTHERS, missing_ok=True).plain


def test_an_order_holds_slots_of_the_table() -> None:
    """The table is read by them, even after its first rows were dropped."""
    table = BoundedTable(COLUMNS, limit=3)
    table.append([("a", 1.0), ("b", 5.0), ("c", None), ("d", 7.0), ("e", 6.0)])
    bound = Query.parse(View(sort=("-balance",), filter="name != 'd'")).bind(table.columns)
    slots = bound.order(table.snapshot())
    assert slots.tolist() == [4, 2]
    assert table.take(slots, [0]).to_pydict() == {"name": ["e", "c"]}


def test_a_view_shows_all_columns_or_those_that_it_names() -> None:
    assert columns_of(View(), COLUMNS) == ((0, 1), ())
    assert columns_of(View(columns=("balance", "name")), COLUMNS) == ((1, 0), ())
    assert columns_of(View(columns=()), COLUMNS) == ((), ())


def test_a_column_that_is_named_twice_is_shown_once() -> None:
    assert columns_of(View(columns=("balance", "name", "balance")), COLUMNS) == ((1, 0), ())


def test_an_unknown_column_is_an_error() -> None:
    with pytest.raises(ColumnNotFoundError) as rejected:
        columns_of(View(columns=("name", "balanse")), COLUMNS)
    assert rejected.value.what == "There is no column 'balanse' to show; did you mean 'balance'?"


def test_after_a_swap_missing_columns_are_left_out() -> None:
    """If none of the named columns remains, all are shown instead of an empty page."""
    assert columns_of(View(columns=("balance", "name")), OTHERS, missing_ok=True) == ((0,), ("balance",))
    assert columns_of(View(columns=("balance", "age")), OTHERS, missing_ok=True) == ((0,), ("balance", "age"))
    assert columns_of(View(columns=()), OTHERS, missing_ok=True) == ((), ())


def test_views_load_no_client_library() -> None:
    heavy = ("pyspark", "confluent_kafka", "starlette", "py4j")
    program = f"import sys, evertable.views.query; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
