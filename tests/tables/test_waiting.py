"""Matches wait for their row, as in a dict of lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evertable.tables.waiting import WaitingMatches


@settings(max_examples=300)
@given(steps=st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 12), max_size=8)), max_size=15))
def test_matches_wait_until_their_row_is_added(steps: list[tuple[bool, list[int]]]) -> None:
    """Each is released once, with the row that it waited for."""
    waiting, model, number = WaitingMatches(), dict[int, list[int]](), 0
    for adds, ids in steps:
        if adds:
            numbers = np.arange(number, number + len(ids))
            waiting.add(np.array(ids, np.int64), np.stack([numbers, numbers + 1, numbers + 2]))
            for id_ in ids:
                model.setdefault(id_, []).append(number)
                number += 1
        else:
            unique = sorted(set(ids))
            released = waiting.release(np.array(unique, np.int64))
            left, _, order_ts = np.concatenate([np.empty((3, 0), np.int64), *released], axis=1)
            assert sorted(left.tolist()) == sorted(n for id_ in unique for n in model.pop(id_, []))
            assert np.array_equal(left + 2, order_ts)
        assert len(waiting) == sum(map(len, model.values()))
