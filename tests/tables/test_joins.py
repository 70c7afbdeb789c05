"""The joins report correctly what was written in place, or that they do not know."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from evertable.changelog.ids import Ints
from evertable.changelog.schema import Side
from evertable.schema.joins import JoinType
from evertable.tables import joins
from evertable.tables.joins import JOINS, JoinedIndex

OWNERS = {JoinType.LEFT: Side.LEFT, JoinType.NATURAL: Side.LEFT, JoinType.ASOF: Side.RIGHT}


def shown(index: JoinedIndex) -> list[tuple[int, int]]:
    left, right = index.sides()
    return list(zip(left.tolist(), right.tolist(), strict=True))


def add(index: JoinedIndex, slots: Ints, others: Ints, order_ts: Ints, version: int) -> bool:
    """Adds matches of left and right rows whose ids are equal to their slots."""
    return index.add_matches((slots, others), np.stack([slots, others, order_ts]), version)


def add_some(index: JoinedIndex, random: Random, rows: int, version: int) -> None:
    count = random.randint(1, 8)
    left, right, ts = (np.array([random.randrange(rows) for _ in range(count)], np.int64) for _ in range(3))
    add(index, left, right, ts, version)


@pytest.mark.parametrize("join", OWNERS)
def test_what_was_written_in_place_is_known_for_a_while(join: JoinType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slot that was overwritten since a version is listed once, in order, unless the version is too old."""
    monkeypatch.setattr(joins, "MAX_RECENT", 4)
    monkeypatch.setattr(joins, "MAX_RECENT_SLOTS", 25)
    random, known = Random(join.value), 0
    for _ in range(30):
        index, rows, version = JOINS[join](), 0, 0
        states = {0: shown(index)}
        for _ in range(40):
            version += 1
            if random.random() < 0.3 or not rows:
                added = random.randint(1, 20)
                for side in Side:
                    index.add_rows(side, rows, rows + added, version)
                rows += added
            else:
                add_some(index, random, rows, version)
            states[version] = shown(index)
            for since in range(version + 1):
                written = index.written_in_place(since)
                if written is None:
                    continue
                known += 1
                before, now = states[since], states[version]
                assert written == sorted(set(written))
                assert {slot for slot, pair in enumerate(before) if now[slot] != pair} <= set(written)
                assert index.written_after(np.array(written, np.int64), since).all()
        assert index.written_in_place(version) == []
        assert index.written_in_place(0) is None
    assert known > 1_000


def test_a_batch_that_is_too_large_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not kept, but later ones are."""
    monkeypatch.setattr(joins, "MAX_RECENT_SLOTS", 10)
    index = JOINS[JoinType.NATURAL]()
    index.add_rows(Side.LEFT, 0, 50, 1)
    every = np.arange(50)
    assert add(index, every, every, every, 2)
    assert index.written_in_place(1) is None
    assert index.written_in_place(2) == []
    one = np.array([7])
    assert add(index, one, one + 1, one + 100, 3)
    assert index.written_in_place(2) == [7]
    assert index.written_in_place(1) is None


@pytest.mark.parametrize("join", JoinType)
def test_what_was_read_does_not_change(join: JoinType) -> None:
    """The sides in a snapshot are never written to, even if no array had to grow."""
    index = JOINS[join]()
    for side in Side:
        index.add_rows(side, 0, 3, 1)
    slots = np.array([0])
    add(index, slots, slots, slots, 2)
    held, picked = index.sides(), index.sides(np.arange(len(index)))
    before = [side.tolist() for side in (*held, *picked)]
    add(index, np.array([0, 1]), np.array([1, 2]), np.array([9, 9]), 3)
    assert [side.tolist() for side in (*held, *picked)] == before
