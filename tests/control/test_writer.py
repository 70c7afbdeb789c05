"""Evertable's own control messages."""

from __future__ import annotations

import json
import threading
import uuid

import pytest
from confluent_kafka.admin import AclOperation
from tests.control.conftest import NewTopic, allow_only, control_topic, properties

from evertable.broker import EmbeddedBroker
from evertable.control.topic import ControlTopic
from evertable.control.writer import Writer
from evertable.errors import ControlReadOnlyError, EvertableError, KafkaUnreachableError, TopicNotFoundError
from evertable.kafka.properties import KafkaProperties


def test_a_message_and_its_place(broker: EmbeddedBroker, new_topic: NewTopic) -> None:
    """Messages are in the first partition, in order, and read as written."""
    topic = control_topic(broker, new_topic(partitions=3))
    writer = Writer(topic)
    messages: list[dict[str, object]] = [
        {"joinType": "inner"},
        {"usersTopic": "ü", "accountsTopic": None, "other": [1]},
        {"usersTopic": "\ud800"},
    ]
    assert [writer.write(message) for message in messages] == [(0, 0), (0, 1), (0, 2)]
    writer.close()
    assert writer.write({}) == (0, 3)
    assert [json.loads(message.value or b"") for message in topic.read_all({})] == [*messages, {}]


def test_it_may_get_ready_before_the_first_message(broker: EmbeddedBroker, new_topic: NewTopic) -> None:
    """Connecting writes nothing, and needs no reachable broker."""
    topic = control_topic(broker, new_topic())
    writer = Writer(topic)
    writer.connect()
    assert topic.read_all({}) == []
    assert writer.write({"joinType": "inner"}) == (0, 0)
    Writer(control_topic_of_nobody()).connect()


def test_closing_ends_a_write_with_an_error() -> None:
    """The write does not wait any longer for an unreachable broker."""
    writer = Writer(control_topic_of_nobody(), timeout_s=600)
    errors: list[Exception] = []

    def write() -> None:
        try:
            writer.write({})
        except EvertableError as error:
            errors.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    while writing.is_alive():  # it may not have begun yet
        writer.close()
        writing.join(0.1)
    assert [type(error) for error in errors] == [KafkaUnreachableError]


def control_topic_of_nobody() -> ControlTopic:
    return ControlTopic(KafkaProperties({"bootstrap.servers": "127.0.0.1:9"}), "nowhere")


def test_any_thread_may(broker: EmbeddedBroker, new_topic: NewTopic) -> None:
    """Each write returns its own offset."""
    topic = control_topic(broker, new_topic())
    writer = Writer(topic)
    returned: dict[int, tuple[int, int]] = {}

    def write(number: int) -> None:
        returned[number] = writer.write({"number": number})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = {json.loads(message.value or b"")["number"]: (0, message.offset) for message in topic.read_all({})}
    assert written == returned


def test_a_missing_right(own_broker: EmbeddedBroker) -> None:
    """It raises the condition of docs/CONTROL.md, and writing works as soon as it is allowed."""
    topic = control_topic(own_broker, f"c-{uuid.uuid4()}")
    topic.ensure()
    allow_only(own_broker, topic.name, AclOperation.READ)
    writer = Writer(topic)
    for _ in range(2):
        with pytest.raises(ControlReadOnlyError) as refused:
            writer.write({})
        assert str(refused.value).startswith(
            f"[CONTROL_READ_ONLY] Evertable's user may not write to the control topic '{topic.name}'"
        )
    allow_only(own_broker, topic.name, AclOperation.WRITE)
    assert writer.write({}) == (0, 0)


def test_a_topic_that_is_missing(broker: EmbeddedBroker) -> None:
    writer = Writer(control_topic(broker, f"c-{uuid.uuid4()}"), timeout_s=2)
    with pytest.raises(TopicNotFoundError):
        writer.write({})


def test_without_a_broker() -> None:
    """The error is raised within the timeout."""
    writer = Writer(ControlTopic(KafkaProperties.of({"bootstrap.servers": "127.0.0.1:1"}), "c"), timeout_s=1)
    with pytest.raises(KafkaUnreachableError) as refused:
        writer.write({})
    assert "127.0.0.1:1" in str(refused.value)


def test_the_broker_is_killed(own_broker: EmbeddedBroker) -> None:
    """Writing fails during the outage and works afterwards; failed messages are not written later."""
    topic = control_topic(own_broker, f"c-{uuid.uuid4()}")
    topic.ensure()
    writer = Writer(topic, timeout_s=2)
    assert writer.write({"n": 0}) == (0, 0)
    own_broker.kill()
    with pytest.raises(KafkaUnreachableError):
        writer.write({"n": 1})
    own_broker.start()
    writer = Writer(topic, timeout_s=30)
    assert writer.write({"n": 2}) == (0, 1)
    assert [message.value for message in topic.read_all({})] == [b'{"n": 0}', b'{"n": 2}']


def test_properties_of_other_clients_do_no_harm(broker: EmbeddedBroker, new_topic: NewTopic) -> None:
    """The ``kafka`` section may have properties of consumers, and some that would weaken the writer."""
    kafka = KafkaProperties.of(
        {**properties(broker).reveal(), "max.poll.records": "7", "acks": "0", "enable.idempotence": "false"}
    )
    assert Writer(ControlTopic(kafka, new_topic())).write({}) == (0, 0)


def test_too_large_a_message(broker: EmbeddedBroker, new_topic: NewTopic) -> None:
    """It raises an error like any other."""
    with pytest.raises(EvertableError, match="large"):
        Writer(control_topic(broker, new_topic())).write({"usersTopic": "x" * 2_000_000})
