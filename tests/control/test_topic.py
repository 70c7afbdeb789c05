"""The control topic on a real broker: created, described, read to its end."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, AdminClient, ConfigResource, NewPartitions, ResourceType
from tests.changelog.producer import Produce
from tests.control.conftest import NewTopic, allow_only, control_topic
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.control.messages import ControlMessage
from evertable.control.topic import ControlTopic
from evertable.errors import KafkaUnreachableError, TopicNotFoundError
from evertable.kafka.properties import KafkaProperties


def places(messages: list[ControlMessage]) -> list[tuple[int, int]]:
    return [(message.partition, message.offset) for message in messages]


def test_a_missing_topic_is_created(broker: EmbeddedBroker, admin: AdminClient) -> None:
    """It has one partition and unlimited retention; the second time it exists."""
    topic = control_topic(broker, f"c-{uuid.uuid4()}")
    created = topic.ensure()
    assert created.partitions == (0,)
    assert topic.ensure() == created
    asked = ConfigResource(ResourceType.TOPIC, topic.name)
    assert admin.describe_configs([asked])[asked].result()["retention.ms"].value == "-1"


def test_a_missing_topic_that_is_not_to_be_created(own_broker: EmbeddedBroker) -> None:
    """It is reported, and not created by the request, even by a broker that creates topics."""
    topic = control_topic(own_broker, f"c-{uuid.uuid4()}")
    for _ in range(3):
        with pytest.raises(TopicNotFoundError, match=f"has no topic '{topic.name}'"):
            topic.describe()
        with pytest.raises(TopicNotFoundError):
            topic.read_all({})


def test_a_topic_that_may_not_be_created(own_broker: EmbeddedBroker) -> None:
    """The error has a remedy, and the caller may retry."""
    topic = control_topic(own_broker, f"c-{uuid.uuid4()}")
    allow_only(own_broker, topic.name, AclOperation.DESCRIBE)
    with pytest.raises(KafkaUnreachableError) as refused:
        topic.ensure()
    assert f"There is no control topic '{topic.name}', and it cannot be created: " in str(refused.value)
    assert str(refused.value).endswith("Create it, or set control.enabled to false.")


def test_without_a_broker() -> None:
    """Every method raises the same error."""
    topic = ControlTopic(KafkaProperties.of({"bootstrap.servers": "127.0.0.1:1"}), "c", timeout_s=1)
    for call in (topic.ensure, lambda: topic.read_all({})):
        with pytest.raises(KafkaUnreachableError, match=r"Kafka at 127\.0\.0\.1:1 does not answer"):
            call()


def test_all_messages_are_read(broker: EmbeddedBroker, new_topic: NewTopic, produce: Produce) -> None:
    """All messages are read from the given offsets on, also tombstones and arbitrary bytes."""
    topic = control_topic(broker, new_topic())
    assert topic.read_all({}) == []
    produce(topic.name, [b"{}", None, b"\xff", b""])
    messages = topic.read_all({})
    assert [message.value for message in messages] == [b"{}", None, b"\xff", b""]
    assert places(messages) == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert all(message.timestamp > 1_600_000_000_000 for message in messages)
    assert places(topic.read_all({0: 2})) == [(0, 2), (0, 3)]
    assert topic.read_all({0: 4}) == []
    assert places(topic.read_all({0: 9})) == places(messages)


def test_the_order_is_that_of_time(broker: EmbeddedBroker, new_topic: NewTopic) -> None:
    """Ties are ordered by partition, then by offset."""
    topic = control_topic(broker, new_topic(partitions=3))
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for partition, timestamp in [(2, 5), (1, 9), (0, 7), (0, 5), (2, 5)]:
        producer.produce(topic.name, b"{}", partition=partition, timestamp=timestamp)
    assert producer.flush(60) == 0
    messages = topic.read_all({})
    assert [(message.timestamp, *place) for message, place in zip(messages, places(messages), strict=True)] == [
        (5, 0, 1),
        (5, 2, 0),
        (5, 2, 1),
        (7, 0, 0),
        (9, 1, 0),
    ]
    assert places(topic.read_all({2: 2, 0: 1})) == [(0, 1), (1, 0)]


def test_transactions(broker: EmbeddedBroker, new_topic: NewTopic) -> None:
    """Aborted messages are not read, and transaction markers at the end are not waited for."""
    topic = control_topic(broker, new_topic())
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic.name})
    producer.init_transactions(60)
    for value, end in [(b"1", producer.commit_transaction), (b"2", producer.abort_transaction)]:
        producer.begin_transaction()
        producer.produce(topic.name, value)
        producer.flush(60)
        end(60)
    assert [message.value for message in topic.read_all({})] == [b"1"]
    assert topic.read_all({0: 1}) == []


def test_ids_and_partitions(broker: EmbeddedBroker, new_topic: NewTopic, admin: AdminClient) -> None:
    """A topic keeps its id when it gains partitions, and gets another when it is recreated."""
    topic = control_topic(broker, new_topic())
    first = topic.describe()
    admin.create_partitions([NewPartitions(topic.name, 3)])[topic.name].result()
    wait_until(lambda: topic.describe().partitions == (0, 1, 2))
    assert topic.describe().id == first.id
    admin.delete_topics([topic.name])[topic.name].result()
    wait_until(lambda: topic.ensure().id not in (first.id, None))
