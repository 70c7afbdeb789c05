"""Keys are numbered as a dict would number them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evertable.tables.numbering import Numbering

KEYS = st.one_of(
    st.integers(0, 30),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 3).map(lambda i: 5_000_000_000 + i * 2**44),
)


@settings(max_examples=300)
@given(batches=st.lists(st.lists(KEYS, max_size=40), max_size=8))
def test_keys_are_numbered_in_order_of_first_arrival(batches: list[list[int]]) -> None:
    """A batch may contain repeats."""
    numbering, model = Numbering(), dict[int, int]()
    for batch in batches:
        keys = np.array(batch, np.int64)
        unknown = {key for key in batch if key not in model}
        for key in batch:
            model.setdefault(key, len(model))
        fresh = numbering.add(keys)
        numbers = numbering.find(keys)
        assert numbers.tolist() == [model[key] for key in batch]
        assert sorted(keys[fresh].tolist()) == sorted(unknown)
        assert numbers[fresh].tolist() == sorted(numbers[fresh].tolist())
    assert len(numbering) == len(model)
    assert numbering.find(np.array([*model, 77], np.int64)).tolist() == [*model.values(), model.get(77, -1)]


def test_many_keys_are_found_again() -> None:
    """The keys are dense, sparse and far apart, and the index has to grow."""
    numbering = Numbering()
    keys = np.concatenate([np.arange(50_000), (np.arange(50_000) << 44) + 2**43, np.arange(50_000) * 4096 + 2**40])
    for batch in np.array_split(keys, 37):
        numbering.add(batch)
    assert np.array_equal(numbering.find(keys), np.arange(len(keys)))
    assert numbering.nbytes < 40 * len(keys)
