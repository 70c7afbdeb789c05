"""A store returns rows as a list would, from few pieces."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evertable.tables import store as store_module
from evertable.tables.store import RowStore


@settings(max_examples=200)
@given(data=st.data())
def test_a_store_returns_rows_by_slot(data: st.DataObject) -> None:
    """Slots may be in any order and repeat, -1 is null; rows that were read before an append do not change."""
    schema = pa.schema([("number", pa.int64()), ("text", pa.string())])
    store, model = RowStore(schema), list[dict[str, Any]]()
    held = store.rows()
    for batch in data.draw(st.lists(st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=6), max_size=12)):
        added = [{"number": value, "text": None if value is None else f"é{value}"} for value in batch]
        store.append(pa.RecordBatch.from_pylist(added, schema))
        model += added
    assert len(held) == 0
    rows = store.rows()
    assert len(store) == len(rows) == len(model)
    slots = data.draw(st.lists(st.integers(-1, len(model) - 1), max_size=20))
    number, text = rows.take(np.array(slots, np.int64), [0, 1])
    nothing = {"number": None, "text": None}
    assert number.to_pylist() == [(model[slot] if slot >= 0 else nothing)["number"] for slot in slots]
    assert text.to_pylist() == [(model[slot] if slot >= 0 else nothing)["text"] for slot in slots]
    assert rows.column(1).to_pylist() == [row["text"] for row in model]


def test_a_store_has_few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for small batches too; no piece exceeds its limit."""
    monkeypatch.setattr(store_module, "MAX_BYTES", 10_000)
    schema = pa.schema([("text", pa.string())])
    store, random = RowStore(schema), Random(1)
    sizes = [random.choice([1, 1, 1, 5, 3_000, 20_000]) for _ in range(2_000)]
    for size in sizes:
        store.append(pa.RecordBatch.from_pylist([{"text": "x" * size}], schema))
    pieces = [len(chunk) for chunk in store.rows().column(0).chunks]
    assert len(pieces) < 2 * sum(sizes) / 10_000 + 20
    assert [len(text) for text in store.rows().column(0).to_pylist()] == sizes


def test_pieces_have_a_maximum_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging large pieces would be slow."""
    monkeypatch.setattr(store_module, "MAX_ROWS", 100)
    schema = pa.schema([("number", pa.int64())])
    store, random, total = RowStore(schema), Random(2), 0
    for _ in range(500):
        size = random.choice([1, 2, 30, 60, 100])
        store.append(pa.RecordBatch.from_arrays([pa.array(np.arange(total, total + size))], schema=schema))
        total += size
    assert max(map(len, store.rows().column(0).chunks)) == 100
    assert np.array_equal(store.rows().column(0).to_numpy(), np.arange(total))
    every = np.arange(total)[::-1]
    assert np.array_equal(store.rows().take(every, [0])[0].to_numpy(), every)
