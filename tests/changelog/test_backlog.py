"""The backlog has the records that a plain read_committed consumer can read, and no others."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.changelog.producer import Produce, produce_to

from evertable.broker import EmbeddedBroker
from evertable.changelog.backlog import PartitionBacklog, find_backlog
from evertable.changelog.coverage import Span
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
    """The backlog is from the first to the last record; an empty partition has none."""
    topic = new_topic(3)
    produce(topic, [b"1", b"2", b"3"], 0)
    produce(topic, [b"1"], 2)
    assert find(topic) == {
        0: PartitionBacklog(0, Span(0, 2)),
        1: PartitionBacklog(0, None),
        2: PartitionBacklog(0, Span(0, 0)),
    }


def test_latest_has_no_backlog(find: Find, new_topic: MakeTopic, produce: Produce) -> None:
    """Every existing record is before the start."""
    topic = new_topic(2)
    produce(topic, [b"1", b"2"])
    assert find(topic, Start.LATEST) == {0: PartitionBacklog(2, None), 1: PartitionBacklog(0, None)}


def test_a_time_begins_at_its_first_record(broker: EmbeddedBroker, find: Find, new_topic: MakeTopic) -> None:
    """Records before it are not in the backlog; a partition without later ones starts at its end."""
    topic = new_topic(2, **{"message.timestamp.before.max.ms": str(2**63 - 1)})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for at_s in (100, 200, 300):
        producer.produce(topic, b"x", partition=0, timestamp=at_s * 1000)
    producer.produce(topic, b"x", partition=1, timestamp=100_000)
    assert producer.flush(30) == 0
    start = Start.parse("1970-01-01T00:02:30Z")
    assert find(topic, start) == {0: PartitionBacklog(1, Span(1, 2)), 1: PartitionBacklog(1, None)}


def test_offsets_above_zero(broker: EmbeddedBroker, find: Find, new_topic: MakeTopic, produce: Produce) -> None:
    """Deleted records are not in the backlog."""
    topic = new_topic()
    produce(topic, [b"x"] * 10)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.delete_records([TopicPartition(topic, 0, 4)]).values():
        answer.result(30)
    assert find(topic) == {0: PartitionBacklog(4, Span(4, 9))}


def test_a_partition_whose_records_are_all_deleted(
    broker: EmbeddedBroker, find: Find, new_topic: MakeTopic, produce: Produce
) -> None:
    """It has an end above zero, but no backlog."""
    topic = new_topic()
    produce(topic, [b"x"] * 10)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.delete_records([TopicPartition(topic, 0, 10)]).values():
        answer.result(30)
    assert find(topic) == {0: PartitionBacklog(10, None)}


def test_the_marker_of_a_transaction_is_not_a_record(broker: EmbeddedBroker, find: Find, new_topic: MakeTopic) -> None:
    """The last offset of a committed transaction is its marker's."""
    topic = new_topic()
    with transaction(broker) as producer:
        for _ in range(3):
            producer.produce(topic, b"x")
        producer.commit_transaction(30)
    assert find(topic) == {0: PartitionBacklog(0, Span(0, 2))}


def test_aborted_transactions_have_no_records(
    broker: EmbeddedBroker, find: Find, new_topic: MakeTopic, produce: Produce
) -> None:
    """They are skipped at the beginning and at the end, even if they are longer than several search windows."""
    topic = new_topic()
    with transaction(broker) as producer:
        producer.produce(topic, b"x")
        producer.flush(30)
        producer.abort_transaction(30)  # offsets 0 and 1
    produce(topic, [b"x", b"x"])  # 2 and 3
    with transaction(broker) as producer:
        for _ in range(2000):
            producer.produce(topic, b"x")
        producer.flush(30)
        producer.abort_transaction(30)
    assert find(topic) == {0: PartitionBacklog(0, Span(2, 3))}


def test_a_topic_with_only_an_aborted_transaction(broker: EmbeddedBroker, find: Find, new_topic: MakeTopic) -> None:
    """It has offsets, but no backlog."""
    topic = new_topic()
    with transaction(broker) as producer:
        producer.produce(topic, b"x")
        producer.flush(30)
        producer.abort_transaction(30)
    assert find(topic) == {0: PartitionBacklog(0, None)}


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
        assert find(topic) == {0: PartitionBacklog(0, Span(0, 1))}
        assert find(topic, Start.LATEST) == {0: PartitionBacklog(2, None)}
        producer.abort_transaction(30)
    assert find(topic) == {0: PartitionBacklog(0, Span(0, 3))}


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


def test_a_compacted_partition(own_broker: EmbeddedBroker) -> None:
    """Its first and last records may have any offset: gaps are skipped on both sides."""
    topic = f"compacted-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap})
    settings = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.001"}
    admin.create_topics([NewTopic(topic, 1, 1, config=settings)])[topic].result(30)
    produce = produce_to(own_broker.bootstrap)
    for key in [b"a"] * 50 + [b"b"]:
        produce(topic, [b"x"], key=key)  # each rolls a segment; all but the active one are compacted
    while _offsets(own_broker, topic) != [49, 50]:  # the broker compacts at some time
        pass
    extents = find_backlog({"bootstrap.servers": own_broker.bootstrap}, topic, Start.EARLIEST)
    assert extents == {0: PartitionBacklog(0, Span(49, 50))}


def _offsets(broker: EmbeddedBroker, topic: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "x", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    offsets: list[int] = []
    while (message := consumer.poll(30)) is not None and message.error() is None:
        offsets.append(message.offset() or 0)
    consumer.close()
    return offsets
