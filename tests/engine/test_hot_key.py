"""One key with thousands of rows: its state is a tree, its matches come in chunks, its results stay right."""

from __future__ import annotations

import random
from bisect import bisect_right

import pytest
from tests.engine.conftest import NewGeneration
from tests.engine.rig import Generation, Sent
from tests.reference.fold import Fold, fold

from evertable.changelog.schema import MAX_MATCHES, Side
from evertable.config import JoinType

BASE = 1_700_000_000_000


def times(generation: Generation, side: Side) -> list[tuple[int, int, int]]:
    """(timestamp, partition, offset) of the side's rows, in order."""
    return sorted((sent.timestamp, p, o) for (s, p, o), sent in generation.sent.items() if s == side)


def chosen(found: Fold) -> dict[int, int]:
    return {row: match for row, (_, match) in found.candidates.items()}


@pytest.mark.parametrize("join", [JoinType.NATURAL, JoinType.ASOF, JoinType.INNER])
def test_thousands_of_rows_of_one_key_in_any_order(new_generation: NewGeneration, join: JoinType) -> None:
    """9,000 rows on one side and 40 on the other, timestamps shuffled and often equal, both sides at once."""
    rng = random.Random(join)
    many = Side.RIGHT if join is JoinType.ASOF else Side.LEFT
    few = Side.LEFT if many is Side.RIGHT else Side.RIGHT
    records = [Sent(many, b'{"userId": "hot"}', rng.randrange(3), BASE + rng.randrange(5000)) for _ in range(9000)]
    for _ in range(40):
        place = rng.randrange(len(records))
        records.insert(place, Sent(few, b'{"userId": "hot"}', rng.randrange(3), BASE + rng.randrange(5000)))
    with new_generation(join) as generation:
        generation.send(records[:4000])
        generation.start().read()
        generation.send(records[4000:])
        generation.read()
        found = fold(join, generation.changes)
        left, right = times(generation, Side.LEFT), times(generation, Side.RIGHT)
        if join is JoinType.INNER:
            assert len(found.pairs) == 9000 * 40
        elif join is JoinType.NATURAL:
            newest = right[-1][1] << 44 | right[-1][2]
            assert chosen(found) == {p << 44 | o: newest for _, p, o in left}
        else:
            before = {(p << 44 | o): bisect_right(left, (at, 1 << 20, 0)) for at, p, o in right}
            assert chosen(found) == {
                row: left[count - 1][1] << 44 | left[count - 1][2] for row, count in before.items() if count
            }


def test_many_matches_come_in_bounded_chunks(new_generation: NewGeneration) -> None:
    """A row that matches 12,001 others is followed by records of at most 5,000 matches each."""
    with new_generation(JoinType.INNER, partitions=1) as generation:
        generation.send([Sent(Side.LEFT, b'{"userId": "hot"}')] * 12_001)
        generation.start().read()
        generation.send([Sent(Side.RIGHT, b'{"userId": "hot"}')])
        generation.read()
        found = fold(JoinType.INNER, generation.changes)
        assert found.pairs == {(offset, 0) for offset in range(12_001)}
        sizes = [changes.pairs.num_rows for changes in generation.changes if changes.pairs.num_rows]
        assert sum(sizes) == 12_001
        assert sum(changes.records for changes in generation.changes) == 12_001 + -(-12_001 // MAX_MATCHES)
