"""One key with thousands of rows: its state is a tree, its matches come in chunks, its results stay right."""

from __future__ import annotations

import random
from bisect import bisect_right

import pytest
from tests.engine.conftest import NewGeneration
from tests.engine.rig import Generation, Sent
from tests.reference.fold import Fold, fold

from evertable.changelog.reader import ChangelogReader
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


@pytest.mark.parametrize("many", [2 * MAX_MATCHES - 1, 2 * MAX_MATCHES, 2 * MAX_MATCHES + 1])
def test_many_matches_come_in_bounded_chunks_before_their_row(new_generation: NewGeneration, many: int) -> None:
    """Who has seen the row has seen its matches, so that a generation is not called caught up without them."""
    with new_generation(JoinType.INNER, partitions=1) as generation:
        generation.send([Sent(Side.LEFT, b'{"userId": "hot"}')] * many)
        generation.start().read()
        generation.send([Sent(Side.RIGHT, b'{"userId": "hot"}')])
        generation.read()
        assert fold(JoinType.INNER, generation.changes).pairs == {(offset, 0) for offset in range(many)}
        properties = generation.config.kafka.for_librdkafka()
        topic, schema = generation.built.spec.changelog_topic, generation.built.schema
        with ChangelogReader(properties, topic, schema, {0: many}, max_records=1) as reader:
            records = [reader.poll(10) for _ in range(-(-many // MAX_MATCHES))]
        assert [(record.pairs.num_rows, record.rows[1].num_rows) for record in records if record] == [
            *[(MAX_MATCHES, 0)] * (len(records) - 1),
            (many - MAX_MATCHES * (len(records) - 1), 1),
        ]
