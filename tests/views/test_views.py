"""A view shows the same rows as plain Python computes, for any rows, filter, sort, offset and limit."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.views.naive import Naive
from tests.views.printing import printed
from tests.views.snapshots import ChunkedSnapshot
from tests.views.strategies import Case, cases

from evertable.views.query import Query
from evertable.views.view import View


@settings(max_examples=1_500)
@given(cases(), st.integers(0, 12), st.integers(0, 12))
def test_pages_are_what_plain_python_computes(case: Case, offset: int, limit: int) -> None:
    """Columns have any chunks, and the first slot may be any."""
    view = View(sort=case.sort, filter=printed(case.where) if case.where else "", newest_first=case.newest_first)
    snapshot = ChunkedSnapshot(case.columns, case.rows, case.first, case.chunk)
    expected = Naive(case.columns).order(case.rows, case.sort, case.where, case.newest_first)
    slots = Query.parse(view).bind(case.columns).order(snapshot)
    assert [slot - case.first for slot in slots.tolist()] == expected
    page = snapshot.take(slots[offset:][:limit], range(len(case.columns)))
    assert list(zip(*page.to_pydict().values(), strict=True)) == [case.rows[i] for i in expected[offset:][:limit]]
