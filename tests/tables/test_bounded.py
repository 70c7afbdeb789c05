"""Small tables keep their newest rows, and are read like other tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.contents import rows_of

from evertable.schema.columns import Column, ColumnType
from evertable.tables.bounded import BoundedTable

COLUMNS = (Column("key", ColumnType.parse("string")), Column("n", ColumnType.parse("long")))


@settings(max_examples=300)
@given(
    limit=st.integers(1, 5),
    steps=st.lists(st.tuples(st.booleans(), st.lists(st.sampled_from("abcdefgh"), max_size=4)), max_size=12),
)
def test_the_newest_rows_are_kept(limit: int, steps: list[tuple[bool, list[str]]]) -> None:
    """Rows are appended or replaced by key, as in a plain list."""
    table, model, number = BoundedTable(COLUMNS, limit), list[tuple[str | None, tuple[str, int]]](), 0
    for by_key, keys in steps:
        before, version, held = (
            dict(enumerate(rows_of(table), table.extent.first)),
            table.extent.version,
            table.snapshot(),
        )
        rows = []
        for key in dict.fromkeys(keys) if by_key else keys:
            number += 1
            rows.append((key, number))
            places = [i for i, (known, _) in enumerate(model) if known == key]
            if by_key and places:
                model[places[0]] = (key, (key, number))
            else:
                model = [*model, (key if by_key else None, (key, number))][-limit:]
        if by_key:
            table.put({key: (key, n) for key, n in rows})
        else:
            table.append(rows)
        assert rows_of(table) == [row for _, row in model]
        assert rows_of(held) == list(before.values())
        after = dict(enumerate(rows_of(table), table.extent.first))
        for slot in before.keys() & after.keys():
            assert table.changed(np.array([slot]), version).all() == (before[slot] != after[slot])
            assert (slot in (table.written(version) or ())) == (before[slot] != after[slot])
        assert (table.extent.version > version) == bool(rows)


def test_on_change_is_called_after_each_write() -> None:
    totals: list[int] = []
    table = BoundedTable(COLUMNS, 5, on_change=lambda: totals.append(table.extent.total))
    table.append([("a", 1), ("b", 2)])
    table.append([])
    table.put({"a": ("a", 3)})
    assert totals == [2, 3]


def test_a_row_that_does_not_fit_is_rejected() -> None:
    table = BoundedTable(COLUMNS, 5)
    calls: list[None] = []
    table._on_change = lambda: calls.append(None)
    with pytest.raises(ValueError, match="3 values for a table of 2 columns"):
        table.append([("a", 1), ("a", 1, 2)])
    for row in [("a", "1"), ("a", 2**63), (1, 1), (b"\xff", 1)]:
        with pytest.raises(ValueError, match=r"the column '(key|n)' cannot hold this"):
            table.put({"x": ("x", 1), "y": row})
    assert (table.rows(), table.extent.version, calls) == ([], 0, [])


def test_unpaired_surrogates_are_replaced() -> None:
    """JSON may contain them, but no viewer could be sent such a text."""
    table = BoundedTable(COLUMNS, 5)
    table.append([("a\ud800b", 1), (None, None), ("ok", 2)])
    assert rows_of(table) == [("a?b", 1), (None, None), ("ok", 2)]
