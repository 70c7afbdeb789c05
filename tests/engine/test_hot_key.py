"""One key with thousands of rows: its state is a tree, its matches come in chunks, its results stay right."""

from __future__ import annotations

import random
from bisect import bisect_right
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.engine.conftest import NewGeneration
from tests.engine.rig import Generation, Sent
from tests.reference.fold import Fold, fold

from evertable.changelog.block import Block, records_of
from evertable.changelog.schema import HEADER, MAX_MATCHES, RecordKind, Side
from evertable.config import JoinType

BASE = 1_700_000_000_000
MAX_BATCH = 257 * 1024  # with its table


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


@pytest.mark.parametrize("many", [2 * MAX_MATCHES - 1, 2 * MAX_MATCHES, 2 * MAX_MATCHES + 1, 9 * MAX_MATCHES])
def test_many_matches_come_in_bounded_chunks_before_their_row(new_generation: NewGeneration, many: int) -> None:
    """A reader that has the row has its matches, so that a generation without them is not caught up."""
    with new_generation(JoinType.INNER, partitions=1) as generation:
        generation.send([Sent(Side.LEFT, b'{"userId": "hot"}')] * many)
        generation.start().read()
        generation.send([Sent(Side.RIGHT, b'{"userId": "hot"}')])
        generation.read()
        assert fold(JoinType.INNER, generation.changes).pairs == {(offset, 0) for offset in range(many)}
        messages = all_of(generation.config.kafka.for_librdkafka(), generation.built.spec.changelog_topic)
        assert max(map(len, messages)) <= MAX_BATCH
        records = records_of(Block.end_to_end(messages, str))
        found = records.gather(records.starts, HEADER)
        found = found[found["side"] == Side.RIGHT]
        full, rest = divmod(many - 1, MAX_MATCHES)
        assert found["kind"].tolist() == [RecordKind.MATCHES] * full + [RecordKind.ROW]
        assert found["count"].tolist() == [MAX_MATCHES] * full + [rest + 1]


def all_of(properties: dict[str, Any], topic: str) -> list[bytes]:
    """What every message of a topic of one partition holds."""
    consumer = Consumer({**properties, "group.id": "test", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while (message := consumer.poll(10)) is not None and message.error() is None:
        found.append(message.value() or b"")
    consumer.close()
    return found
