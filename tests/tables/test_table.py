"""Pieces have a limited amount of text, for every kind of table."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.schema.columns import parse_columns
from evertable.tables.bounded import BoundedTable
from evertable.tables.source import SourceTable
from evertable.tables.store import RowStore
from evertable.tables.table import Table, pieces, schema_of

COLUMNS = parse_columns({"id": "long", "name": "string", "notes": "json"})
TEXTS = st.none() | st.text(st.characters(codec="ascii"), max_size=5) | st.sampled_from(["x" * 100, "y" * 1_000])


def source(rows: list[tuple[int, str | None, str | None]]) -> SourceTable:
    made = SourceTable(COLUMNS, threading.RLock(), with_ts=False)
    for start in range(0, len(rows), 3):
        columns = zip(*rows[start : start + 3], strict=True)
        values = [pa.array(column, field.type) for column, field in zip(columns, schema_of(COLUMNS), strict=True)]
        ids = pa.array(range(start, start + len(values[0])), pa.int64())
        made.add(pa.RecordBatch.from_arrays([ids, ids, *values], ["_id", "_ts", *(one.name for one in COLUMNS)]))
    return made


@given(
    rows=st.lists(st.tuples(st.integers(0, 9), TEXTS, TEXTS), max_size=40),
    max_rows=st.integers(1, 50),
    max_bytes=st.sampled_from([1, 200, 1_000, 5_000]),
)
def test_pieces_are_whole_and_small(
    rows: list[tuple[int, str | None, str | None]], max_rows: int, max_bytes: int
) -> None:
    bounded = BoundedTable(COLUMNS, 1_000)
    bounded.append(rows)
    tables: list[Table] = [bounded, source(rows)]
    for table in tables:
        slots = np.arange(len(rows))
        snapshot = table.snapshot()
        sizes = snapshot.text_bytes(slots, [0, 1, 2]).tolist()
        assert sizes == [len(name or "") + len(notes or "") for _, name, notes in rows]
        assert table.text_bytes(slots, [0, 1, 2]).tolist() == sizes
        cut = list(pieces(snapshot, slots, [0, 1, 2], max_rows, max_bytes))
        assert [slot for start, stop in cut for slot in range(start, stop)] == slots.tolist()
        for start, stop in cut:
            assert stop - start <= max_rows
            assert stop - start == 1 or sum(sizes[start:stop]) <= max_bytes


@pytest.mark.parametrize("slots", [[], [-1, -1], [4, 0, -1, 2], [0, 1, 2, 3, 4]])
def test_slots_without_a_row_have_no_text(slots: list[int]) -> None:
    """A joined row without a match has such a slot; slots are in any order, from several pieces of a store."""
    store = RowStore(schema_of(COLUMNS))
    for number in range(5):
        texts = ["x" * number] * 10
        store.append(pa.RecordBatch.from_arrays([[number] * 10, texts, texts], schema=store.schema).slice(3, 1))
    expected = [2 * slot if slot > 0 else 0 for slot in slots]
    assert store.rows().text_bytes(np.array(slots, np.int64), [1, 0, 2]).tolist() == expected
