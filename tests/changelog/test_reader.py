"""The reader returns a changelog topic as changes, and its position."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.changelog.encoder import Encoder, Match, SourceRef
from tests.changelog.producer import Produce, produce_to
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.changes import Changes
from evertable.changelog.reader import MAX_BYTES, ChangelogReader
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.errors import ChangelogError, KafkaUnreachableError, TopicNotFoundError
from evertable.schema.columns import Column, ColumnType
from evertable.schema.joins import JoinType

MakeTopic = Callable[..., str]
Open = Callable[..., ChangelogReader]

COLUMNS = (Column("userId", ColumnType.parse("string")),)
SCHEMA = ChangelogSchema(COLUMNS, COLUMNS, JoinType.INNER)
ENCODER = Encoder(SCHEMA)


def row(offset: int, side: Side = Side.LEFT) -> bytes:
    return ENCODER.row(SourceRef(side, 0, offset, offset * 1000), [f"user{offset}"], [Match(7, 0)] if side else [])


@pytest.fixture
def read(broker: EmbeddedBroker) -> Iterator[Open]:
    """Opens readers, and closes them after the test."""
    readers: list[ChangelogReader] = []

    def read(topic: str, offsets: dict[int, int] | None = None, **more: int) -> ChangelogReader:
        properties = {"bootstrap.servers": broker.bootstrap}
        readers.append(ChangelogReader(properties, topic, SCHEMA, offsets, **more))
        return readers[-1]

    yield read
    for reader in readers:
        reader.close()


def left_ids(reader: ChangelogReader, count: int, wait_s: float = 30) -> list[int]:
    """Reads the ids of the next ``count`` left rows."""
    ids: list[int] = []
    while len(ids) < count:
        if (changes := reader.poll(wait_s)) is not None:
            ids += changes.rows[Side.LEFT].column("_id").to_pylist()
    return ids


def test_a_topic_is_read_from_its_beginning(read: Open, new_topic: MakeTopic, produce: Produce) -> None:
    """Rows, matches and rejects are returned, the position is after them, and the next poll returns None."""
    topic = new_topic()
    reject = ENCODER.reject(SourceRef(Side.RIGHT, 0, 9, 0), "TOMBSTONE: no value", None)
    produce(topic, [row(1), row(2, Side.RIGHT), reject])
    reader = read(topic)
    seen: list[Changes] = []
    while sum(changes.records for changes in seen) < 3:
        seen += filter(None, [reader.poll(30)])
    assert [name for changes in seen for name in changes.rows[0].column("userId").to_pylist()] == ["user1"]
    assert [pair for changes in seen for pair in changes.matches.to_pylist()] == [
        {"left": 7, "right": 2, "order_ts": 0}
    ]
    assert [reason for changes in seen for reason in changes.rejects.column("reason").to_pylist()] == [
        "TOMBSTONE: no value"
    ]
    assert reader.positions == reader.end() == {0: 3}
    assert reader.poll(0) is None


def test_a_batch_is_bounded(read: Open, new_topic: MakeTopic, produce: Produce) -> None:
    """A batch has no more messages than the maximum."""
    topic = new_topic()
    produce(topic, [row(i) for i in range(100)])
    reader = read(topic, max_messages=7)
    sizes: list[int] = []
    while sum(sizes) < 100:
        sizes += [changes.records for changes in filter(None, [reader.poll(30)])]
    assert max(sizes) <= 7


def test_a_batch_of_large_records_is_bounded_too(read: Open, new_topic: MakeTopic, produce: Produce) -> None:
    """Its bytes are limited, and a larger record is a batch of its own; the position is after each batch."""
    topic = new_topic(1, **{"max.message.bytes": "10000000"})
    sizes = [5_000_000, 1_000_000, 3_000_000, 3_000_000, 10, 10]
    values = [ENCODER.row(SourceRef(Side.LEFT, 0, i, 0), ["x" * size]) for i, size in enumerate(sizes)]
    produce(topic, values)
    reader = read(topic)
    offset = 0
    while offset < len(values):
        if (changes := reader.poll(30)) is not None:
            offset += changes.records
            assert changes.records == 1 or changes.rows[0].nbytes < MAX_BYTES
            assert reader.positions == {0: offset}


def test_reading_starts_at_given_offsets(read: Open, new_topic: MakeTopic, produce: Produce) -> None:
    """Other partitions are read from their beginning."""
    topic = new_topic(2)
    produce(topic, [row(i) for i in range(10)], 0)
    produce(topic, [row(i) for i in range(100, 103)], 1)
    reader = read(topic, {0: 8})
    assert reader.positions == {0: 8, 1: 0}
    assert sorted(left_ids(reader, 5)) == [8, 9, 100, 101, 102]
    assert reader.positions == {0: 10, 1: 3}


def test_a_waiting_reader_wakes_for_a_single_record(read: Open, new_topic: MakeTopic, produce: Produce) -> None:
    """It waits neither for a full batch nor for its timeout."""
    topic = new_topic()
    reader = read(topic)
    assert reader.poll(0) is None
    writer = threading.Thread(target=produce, args=(topic, [row(5)]))
    writer.start()
    changes = reader.poll(100)
    writer.join()
    assert changes is not None
    assert changes.records == 1


def test_a_record_that_cannot_be_read_is_named(read: Open, new_topic: MakeTopic, produce: Produce) -> None:
    """The error has its offset in the changelog; the position remains before its batch."""
    topic = new_topic()
    produce(topic, [row(1)])
    reader = read(topic)
    assert left_ids(reader, 1) == [1]
    produce(topic, [b"\x01" + row(2)[1:]])
    with pytest.raises(ChangelogError, match=rf"record at {topic}\[0\], offset 1 .*has format version 1"):
        reader.poll(30)
    assert reader.positions == {0: 1}


def test_a_tombstone_in_a_changelog_is_an_error(read: Open, new_topic: MakeTopic, produce: Produce) -> None:
    """Only another program can have written it."""
    topic = new_topic()
    produce(topic, [None])
    with pytest.raises(ChangelogError, match=rf"{topic}\[0\], offset 0 has only 0 bytes"):
        read(topic).poll(30)


def test_lost_records_are_an_error(broker: EmbeddedBroker, read: Open, new_topic: MakeTopic, produce: Produce) -> None:
    """The reader never skips missing offsets silently."""
    topic = new_topic()
    produce(topic, [row(i) for i in range(5)])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.delete_records([TopicPartition(topic, 0, 3)]).values():
        answer.result(30)
    reader = read(topic)
    with pytest.raises(ChangelogError, match=f"'{topic}' no longer holds the next offset to read"):
        reader.poll(30)


def test_a_missing_topic_is_named(read: Open) -> None:
    """The constructor raises the error."""
    with pytest.raises(TopicNotFoundError, match="no topic 'not-there'"):
        read("not-there")


def test_a_broker_that_does_not_answer_is_named() -> None:
    """The constructor raises the error, with its reason, after the timeout."""
    with pytest.raises(KafkaUnreachableError, match=r"does not answer: .*refused"):
        ChangelogReader({"bootstrap.servers": "127.0.0.1:1"}, "any", SCHEMA, timeout_s=1)


def test_a_topic_that_is_deleted_under_the_reader_is_named(
    broker: EmbeddedBroker, read: Open, new_topic: MakeTopic, produce: Produce
) -> None:
    """Without an error it would look like an idle generation."""
    topic = new_topic()
    produce(topic, [row(1)])
    reader = read(topic, check_s=0)
    assert left_ids(reader, 1) == [1]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_topics([topic])[topic].result(30)
    with pytest.raises(TopicNotFoundError, match=topic):
        left_ids(reader, 1, wait_s=0)


def test_a_reader_may_be_closed_twice(read: Open, new_topic: MakeTopic) -> None:
    """Clean-up code may close it again."""
    with read(new_topic()) as reader:
        reader.close()


def test_a_reopened_reader_neither_loses_nor_repeats_records(
    read: Open, new_topic: MakeTopic, produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that were received but not returned are read again."""
    monkeypatch.setattr("evertable.changelog.reader.MAX_BYTES", 1)  # so that the rest of a batch has to wait
    topic = new_topic()
    produce(topic, [row(i) for i in range(5)])
    reader = read(topic)
    found = left_ids(reader, 2)
    assert reader._undecoded
    reader.reopen()
    assert found + left_ids(reader, 5 - len(found)) == list(range(5))


def test_nothing_is_lost_while_the_topic_is_checked(
    read: Open, new_topic: MakeTopic, produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that arrive during a check that times out are read exactly once."""
    monkeypatch.setattr("evertable.changelog.reader._CHECK_TIMEOUT_S", 0.001)
    topic, found = new_topic(), list[int]()
    reader = read(topic, check_s=0)

    def arrived() -> bool:
        changes = reader.poll(0)
        if changes is not None:
            found.extend(changes.rows[Side.LEFT].column("_id").to_pylist())
        return found[-1:] == [i]

    for i in range(50):
        produce(topic, [row(i)])
        wait_until(arrived, f"record {i}", 60)
    assert found == list(range(50))


def test_reading_survives_the_broker(own_broker: EmbeddedBroker) -> None:
    """When a killed broker is started again, reading continues without intervention."""
    topic = f"outage-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    produce_to(own_broker.bootstrap)(topic, [row(1), row(2)])
    with ChangelogReader({"bootstrap.servers": own_broker.bootstrap}, topic, SCHEMA) as reader:
        assert left_ids(reader, 2) == [1, 2]
        own_broker.kill()
        assert reader.poll(1) is None
        own_broker.start()
        produce_to(own_broker.bootstrap)(topic, [row(3)])
        assert left_ids(reader, 1) == [3]
        assert reader.positions == {0: 3}


def test_a_changelog_with_missing_offsets_is_an_error(broker: EmbeddedBroker, read: Open, new_topic: MakeTopic) -> None:
    """Every offset must be a record; here a transaction's marker takes one."""
    topic = new_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    for offset in range(2):
        producer.begin_transaction()
        producer.produce(topic, row(offset), partition=0)
        producer.commit_transaction()
    reader = read(topic)
    with pytest.raises(ChangelogError, match=r"is damaged: 1 of the offsets . to 2 of partition 0 are missing"):
        left_ids(reader, 2)
