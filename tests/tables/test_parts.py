"""The parts that tables are made of, each against something plain: a dict, a list."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evertable.tables import store as store_module
from evertable.tables.growing import GrowingArray
from evertable.tables.numbering import Numbering
from evertable.tables.store import RowStore
from evertable.tables.waiting import Matches, WaitingMatches

KEYS = st.one_of(
    st.integers(0, 30),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 3).map(lambda i: 5_000_000_000 + i * 2**44),
)


@settings(max_examples=300, deadline=None)
@given(batches=st.lists(st.lists(KEYS, max_size=40), max_size=8))
def test_keys_are_numbered_in_order_of_first_arrival(batches: list[list[int]]) -> None:
    """As a dict would, repeats inside a batch included."""
    numbering, model = Numbering(), dict[int, int]()
    for batch in batches:
        keys = np.array(batch, np.int64)
        unknown = {key for key in batch if key not in model}
        for key in batch:
            model.setdefault(key, len(model))
        numbers, fresh = numbering.add(keys)
        assert numbers.tolist() == [model[key] for key in batch]
        assert sorted(keys[fresh].tolist()) == sorted(unknown)
        assert numbers[fresh].tolist() == sorted(numbers[fresh].tolist())
    assert len(numbering) == len(model)
    assert numbering.find(np.array([*model, 77], np.int64)).tolist() == [*model.values(), model.get(77, -1)]


def test_many_keys_are_found_again() -> None:
    """Dense, sparse and far apart: the index grows as they come."""
    numbering = Numbering()
    keys = np.concatenate([np.arange(50_000), (np.arange(50_000) << 44) + 2**43, np.arange(50_000) * 4096 + 2**40])
    for batch in np.array_split(keys, 37):
        numbering.add(batch)
    assert np.array_equal(numbering.find(keys), np.arange(len(keys)))
    assert numbering.nbytes < 40 * len(keys)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_store_gives_rows_by_slot(data: st.DataObject) -> None:
    """In any order, repeated, nulls for -1; rows taken before an append stay as they are."""
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
    """However small the batches are; none gets larger than it may, in rows or in bytes."""
    monkeypatch.setattr(store_module, "MAX_BYTES", 10_000)
    schema = pa.schema([("text", pa.string())])
    store, random = RowStore(schema), Random(1)
    sizes = [random.choice([1, 1, 1, 5, 3_000, 20_000]) for _ in range(2_000)]
    for size in sizes:
        store.append(pa.RecordBatch.from_pylist([{"text": "x" * size}], schema))
    pieces = [len(chunk) for chunk in store.rows().column(0).chunks]
    assert len(pieces) < 2 * sum(sizes) / 10_000 + 20
    assert [len(text) for text in store.rows().column(0).to_pylist()] == sizes


def test_pieces_have_so_many_rows_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging a large piece would cost more the larger it is; one batch may be larger."""
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


@settings(max_examples=300, deadline=None)
@given(steps=st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 12), max_size=8)), max_size=15))
def test_matches_wait_until_their_row_comes(steps: list[tuple[bool, list[int]]]) -> None:
    """Each is released once, with the row it waited for, and no other."""
    waiting, model, number = WaitingMatches(), dict[int, list[int]](), 0
    for adds, ids in steps:
        if adds:
            numbers = np.arange(number, number + len(ids))
            waiting.add(np.array(ids, np.int64), Matches(numbers, numbers + 1, numbers + 2))
            for id_ in ids:
                model.setdefault(id_, []).append(number)
                number += 1
        else:
            unique = sorted(set(ids))
            released = waiting.release(np.array(unique, np.int64))
            assert sorted(released.left.tolist()) == sorted(n for id_ in unique for n in model.pop(id_, []))
            assert np.array_equal(released.left + 2, released.order_ts)
        assert len(waiting) == sum(map(len, model.values()))


def test_values_given_out_stay_when_the_array_grows() -> None:
    array = GrowingArray(np.int32)
    array.append(np.arange(60))
    held = array.values
    array.extend(1_000, 7)
    array.values[0] = 99
    assert held[0] == 0
    assert array.values[-1] == 7
    assert len(array) == 1_060
