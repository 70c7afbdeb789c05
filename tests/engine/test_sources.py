"""Unusual topics: transactions, extreme timestamps, offsets far from zero, automatic creation."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.engine.conftest import NewGeneration
from tests.engine.rig import Sent

from evertable.broker import EmbeddedBroker
from evertable.changelog.schema import Side
from evertable.config import JoinType


def test_a_timestamp_in_nanoseconds_is_a_reject_and_kills_nothing(
    new_generation: NewGeneration, new_topic: Callable[..., str]
) -> None:
    """A producer that gives nanoseconds is enough."""
    any_time = {"message.timestamp.after.max.ms": str(2**63 - 1), "message.timestamp.before.max.ms": str(2**63 - 1)}
    topics = (new_topic(1, **any_time), new_topic(1))
    good = b'{"userId": "k"}'
    with new_generation(JoinType.ASOF, topics=topics) as generation:
        wild = [Sent(Side.LEFT, good, timestamp=1_700_000_000_000_000_000), Sent(Side.LEFT, good, timestamp=2**63 - 1)]
        generation.send([*wild, Sent(Side.LEFT, good), Sent(Side.RIGHT, good)])
        generation.start().read()
        assert {place: reason.split(":")[0] for place, reason in generation.rejects.items()} == {
            (0, 0, 0): "TIMESTAMP_OUT_OF_RANGE",
            (0, 0, 1): "TIMESTAMP_OUT_OF_RANGE",
        }
        assert [pair for changes in generation.changes for pair in changes.matches.column("left").to_pylist()] == [2]


def test_a_timestamp_far_ahead_of_the_clock_is_a_reject(
    new_generation: NewGeneration, new_topic: Callable[..., str]
) -> None:
    """It would be the newest row of its key for a year."""
    topics = (new_topic(1), new_topic(1, **{"message.timestamp.after.max.ms": str(2**63 - 1)}))
    now, hour = round(time.time() * 1000), 3_600_000
    record = b'{"userId": "k"}'
    with new_generation(JoinType.NATURAL, topics=topics) as generation:
        generation.send([Sent(Side.RIGHT, record, timestamp=now + ahead * hour) for ahead in (23, 25, 24 * 365)])
        generation.send([Sent(Side.LEFT, record)])
        generation.start().read()
        assert {place: reason.split(":")[0] for place, reason in generation.rejects.items()} == {
            (1, 0, 1): "TIMESTAMP_AHEAD",
            (1, 0, 2): "TIMESTAMP_AHEAD",
        }
        assert [pair for changes in generation.changes for pair in changes.matches.column("right").to_pylist()] == [0]


def test_only_committed_transactions_become_rows(
    broker: EmbeddedBroker, new_generation: NewGeneration, new_topic: Callable[..., str]
) -> None:
    """Aborted records are never shown, and markers between offsets hold up nothing, before the start and after."""
    topics = (new_topic(1), new_topic(1))
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topics[0]})
    producer.init_transactions()

    def transact(count: int, *, commit: bool) -> None:
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(topics[0], b'{"userId": "%s"}' % (b"committed" if commit else b"aborted"))
        producer.flush()
        producer.commit_transaction() if commit else producer.abort_transaction()

    transact(3, commit=True)
    transact(2, commit=False)
    with new_generation(JoinType.INNER, topics=topics) as generation:
        generation.start()
        generation.read_until(lambda: len(generation.seen) >= 3)
        transact(2, commit=False)
        transact(2, commit=True)
        generation.read_until(lambda: len(generation.seen) >= 5)
        assert sorted(generation.seen) == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 10), (0, 0, 11)]
        assert {row["userId"] for row in generation.rows(Side.LEFT).values()} == {"committed"}


def test_what_was_deleted_from_a_topic_is_not_awaited(
    broker: EmbeddedBroker, new_generation: NewGeneration, new_topic: Callable[..., str]
) -> None:
    """A topic whose first offsets are gone is read from where it begins, and caught up there."""
    topics = (new_topic(1), new_topic(1))
    with new_generation(JoinType.INNER, topics=topics) as generation:
        generation.send(Sent(Side.LEFT, b'{"userId": "%d"}' % i) for i in range(10))
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for answer in admin.delete_records([TopicPartition(topics[0], 0, 7)]).values():
            answer.result()
        generation.start()
        generation.read_until(lambda: generation.built.backlog.is_read(generation.positions))
        assert sorted(generation.seen) == [(0, 0, 7), (0, 0, 8), (0, 0, 9)]


def test_one_topic_may_be_both_sides(new_generation: NewGeneration, new_topic: Callable[..., str]) -> None:
    """A self-join: every row is there twice, once for each side, and matches itself and its like."""
    topic = new_topic(2)
    users = {"userId": "string", "name": "string"}
    with new_generation(JoinType.INNER, topics=(topic, topic), left=users, right=users) as generation:
        records = [Sent(Side.LEFT, b'{"userId": "%d"}' % (i % 2), partition=i % 2) for i in range(4)]
        generation.send(records)
        generation.start()
        generation.read_until(lambda: len(generation.seen) == 2 * len(records))
        generation.read()
        assert sum(changes.matches.num_rows for changes in generation.changes) == 2 * 2 * 2
