"""The backlog ends where a plain read_committed consumer would have to wait."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.changelog.producer import Produce

from evertable.broker import EmbeddedBroker
from evertable.changelog.backlog import PartitionBacklog, find_backlog
from evertable.config.start import Start
from evertable.errors import KafkaUnreachableError, TopicNotFoundError

MakeTopic = Callable[..., str]


@pytest.fixture
def find(broker: EmbeddedBroker) -> Callable[..., dict[int, PartitionBacklog]]:
    def find(topic: str, start: Start = Start.EARLIEST) -> dict[int, PartitionBacklog]:
        return find_backlog({"bootstrap.servers": broker.bootstrap}, topic, start)

    return find


Find = Callable[..., dict[int, PartitionBacklog]]


@contextmanager
def transaction(broker: EmbeddedBroker) -> Iterator[Producer]:
    """Opens a transaction, which the block commits or aborts; its marker is written when the block ends."""
    properties = {"bootstrap.servers": broker.bootstrap, "transactional.id": str(uuid.uuid4()), "linger.ms": 0}
    producer = Producer(properties)
    producer.init_transactions(30)
    producer.begin_transaction()
    try:
        yield producer
    except BaseException:
        producer.abort_transaction(30)
        raise
    # A broker answers before it writes the marker, but accepts a successor of that id only afterwards.
    successor = Producer(properties)
    successor.init_transactions(30)


def test_plain_partitions(find: Find, new_topic: MakeTopic, produce: Produce) -> None:
    """The backlog ends after the last record; an empty partition has none."""
    topic = new_topic(3)
    produce(topic, [b"1", b"2", b"3"], 0)
    produce(topic, [b"1"], 2)
    assert find(topic) == {
        0: PartitionBacklog(0, 3),
        1: PartitionBacklog(0, 0),
        2: PartitionBacklog(0, 1),
    }


def test_latest_has_no_backlog(find: Find, new_topic: MakeTopic, produce: Produce) -> None:
    """Every existing record is before the start."""
    topic = new_topic(2)
    produce(topic, [b"1", b"2"])
    assert find(topic, Start.LATEST) == {0: PartitionBacklog(2, 2), 1: PartitionBacklog(0, 0)}


def test_a_time_begins_at_its_first_record(broker: EmbeddedBroker, find: Find, new_topic: MakeTopic) -> None:
    """Records before it are not in the backlog; a partition without later ones starts at its end."""
    topic = new_topic(2, **{"message.timestamp.before.max.ms": str(2**63 - 1)})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for at_s in (100, 200, 300):
        producer.produce(topic, b"x", partition=0, timestamp=at_s * 1000)
    producer.produce(topic, b"x", partition=1, timestamp=100_000)
    assert producer.flush(30) == 0
    start = Start.parse("1970-01-01T00:02:30Z")
    assert find(topic, start) == {0: PartitionBacklog(1, 3), 1: PartitionBacklog(1, 1)}


def test_offsets_above_zero(broker: EmbeddedBroker, find: Find, new_topic: MakeTopic, produce: Produce) -> None:
    """Deleted records are not in the backlog."""
    topic = new_topic()
    produce(topic, [b"x"] * 10)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.delete_records([TopicPartition(topic, 0, 4)]).values():
        answer.result(30)
    assert find(topic) == {0: PartitionBacklog(4, 10)}


def test_a_partition_whose_records_are_all_deleted(
    broker: EmbeddedBroker, find: Find, new_topic: MakeTopic, produce: Produce
) -> None:
    """It has an end above zero, but no backlog."""
    topic = new_topic()
    produce(topic, [b"x"] * 10)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.delete_records([TopicPartition(topic, 0, 10)]).values():
        answer.result(30)
    assert find(topic) == {0: PartitionBacklog(10, 10)}


def test_the_marker_of_a_transaction_is_before_the_end(
    broker: EmbeddedBroker, find: Find, new_topic: MakeTopic
) -> None:
    """A consumer passes it without a record; so it does an aborted transaction."""
    topic = new_topic()
    with transaction(broker) as producer:
        for _ in range(3):
            producer.produce(topic, b"x")
        producer.commit_transaction(30)
    assert find(topic) == {0: PartitionBacklog(0, 4)}


def test_an_open_transaction_is_not_in_the_backlog(
    broker: EmbeddedBroker, find: Find, new_topic: MakeTopic, produce: Produce
) -> None:
    """Nor are the records after it, which cannot be read until it ends."""
    topic = new_topic()
    produce(topic, [b"x", b"x"])
    with transaction(broker) as producer:
        producer.produce(topic, b"x")
        producer.flush(30)
        produce(topic, [b"x"])
        assert find(topic) == {0: PartitionBacklog(0, 2)}
        assert find(topic, Start.LATEST) == {0: PartitionBacklog(2, 2)}
        producer.abort_transaction(30)
    assert find(topic) == {0: PartitionBacklog(0, 5)}


def test_a_missing_topic_is_named_and_not_created(own_broker: EmbeddedBroker) -> None:
    """It is not created even if the broker creates topics automatically."""
    properties = {"bootstrap.servers": own_broker.bootstrap}
    for _ in range(2):
        with pytest.raises(TopicNotFoundError, match="no topic 'not-there'"):
            find_backlog(properties, "not-there", Start.EARLIEST)


def test_a_broker_that_does_not_answer_is_named() -> None:
    """The error contains the reason of the connection."""
    with pytest.raises(KafkaUnreachableError, match=r"Kafka at 127\.0\.0\.1:1 does not answer: .*refused"):
        find_backlog({"bootstrap.servers": "127.0.0.1:1"}, "any", Start.EARLIEST, timeout_s=2)


def test_a_backlog_from_another_start() -> None:
    """A resumed query starts where it was built; a topic that lost its records since then has no backlog."""
    assert PartitionBacklog(0, 9).from_offset(4) == PartitionBacklog(4, 9)
    assert PartitionBacklog(0, 3).from_offset(4) == PartitionBacklog(4, 4)
