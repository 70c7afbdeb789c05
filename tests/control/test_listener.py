"""The listener delivers each control message, whatever happens to the topic and its broker."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from confluent_kafka.admin import AclOperation, AdminClient, NewPartitions
from tests.changelog.producer import Produce, produce_to
from tests.control.conftest import NewTopic, allow_only, control_topic
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.control.listener import ControlListener
from evertable.control.messages import ControlMessage
from evertable.control.topic import ControlTopic
from evertable.errors import TopicNotFoundError

CHECK_S = 0.2


class Delivered(list[ControlMessage]):
    """The delivered messages, and the topic ids and threads of the calls."""

    def __init__(self) -> None:
        self.topic_ids: set[str | None] = set()
        self.threads: set[str] = set()

    def __call__(self, message: ControlMessage, topic_id: str | None) -> None:
        self.append(message)
        self.topic_ids.add(topic_id)
        self.threads.add(threading.current_thread().name)

    @property
    def values(self) -> list[bytes | None]:
        return [message.value for message in self]

    def wait(self, *values: bytes | None) -> None:
        wait_until(lambda: self.values == list(values), f"{list(values)}, not {self.values}")


@pytest.fixture
def delivered() -> Delivered:
    return Delivered()


def report(level: str, message: str) -> None:
    logging.getLogger(__name__).log(logging.getLevelName(level), message)


@contextmanager
def listener(
    topic: ControlTopic,
    on_message: Callable[[ControlMessage, str | None], None],
    after: dict[int, int] | None = None,
    topic_id: str | None = None,
) -> Iterator[ControlListener]:
    running = ControlListener(topic, after or {}, on_message, report, check_s=CHECK_S, topic_id=topic_id)
    running.start()
    with closing(running):
        yield running


def id_of(topic: ControlTopic) -> str | None:
    """Returns the id of a topic if it exists."""
    try:
        return topic.describe().id
    except TopicNotFoundError:
        return None


def test_each_message_in_order(
    broker: EmbeddedBroker, new_topic: NewTopic, produce: Produce, delivered: Delivered
) -> None:
    """Delivery begins at the given offsets, on one thread, and ends with the listener."""
    topic = control_topic(broker, new_topic())
    produce(topic.name, [b"0", b"1", b"2"])
    with listener(topic, delivered, {0: 1}) as running:
        delivered.wait(b"1", b"2")
        produce(topic.name, [b"3", None, *(str(number).encode() for number in range(5, 500))])
        wait_until(lambda: len(delivered) == 499)
    assert [message.offset for message in delivered] == list(range(1, 500))
    assert delivered.threads == {"evertable-control"}
    assert not any(thread.name == "evertable-control" for thread in threading.enumerate())
    produce(topic.name, [b"later"])
    running.close()
    assert delivered.values[-1] == b"499"


def test_closing_without_starting(broker: EmbeddedBroker, delivered: Delivered) -> None:
    ControlListener(control_topic(broker, "nothing"), {}, delivered, report).close()


def test_the_callback_may_close(broker: EmbeddedBroker, new_topic: NewTopic, produce: Produce) -> None:
    """It is not called again."""
    topic = control_topic(broker, new_topic())
    produce(topic.name, [b"0", b"1"])
    received: list[ControlMessage] = []
    running: ControlListener

    def close(message: ControlMessage, _topic_id: str | None) -> None:
        received.append(message)
        running.close()

    running = ControlListener(topic, {}, close, report)
    running.start()
    wait_until(lambda: not any(thread.name == "evertable-control" for thread in threading.enumerate()))
    assert [message.value for message in received] == [b"0"]


def test_a_callback_that_raises(
    broker: EmbeddedBroker, new_topic: NewTopic, produce: Produce, caplog: pytest.LogCaptureFixture
) -> None:
    """The error is logged with the message's offset, and the next message is delivered."""
    topic = control_topic(broker, new_topic())
    received: list[bytes | None] = []

    def fail(message: ControlMessage, _topic_id: str | None) -> None:
        received.append(message.value)
        raise ValueError(message.value)

    with listener(topic, fail):
        produce(topic.name, [b"0", b"1"])
        wait_until(lambda: received == [b"0", b"1"])
    assert f"{topic.name}[0], offset 0 could not be processed" in caplog.text


def test_a_missing_topic(broker: EmbeddedBroker, produce: Produce, delivered: Delivered) -> None:
    """It is created at the start and after a deletion, and then read from its beginning."""
    topic = control_topic(broker, f"c-{uuid.uuid4()}")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    with listener(topic, delivered, {0: 7}):
        wait_until(lambda: id_of(topic) is not None)
        first = topic.describe().id
        produce(topic.name, [b"0"])
        delivered.wait(b"0")
        admin.delete_topics([topic.name])[topic.name].result()
        wait_until(lambda: id_of(topic) not in (first, None))
        produce_to(broker.bootstrap)(topic.name, [b"1"])
        delivered.wait(b"0", b"1")


@pytest.mark.parametrize("count", [1, 5], ids=["fewer", "more"])
def test_a_recreated_topic(
    broker: EmbeddedBroker, admin: AdminClient, new_topic: NewTopic, produce: Produce, delivered: Delivered, count: int
) -> None:
    """It is read from its beginning, once, whether it has fewer or more messages than before."""
    topic = control_topic(broker, new_topic())
    produce(topic.name, [b"a", b"b", b"c"])
    again = [f"again {number}".encode() for number in range(count)]
    with listener(topic, delivered) as running:
        delivered.wait(b"a", b"b", b"c")
        first = running.topic_id
        admin.delete_topics([topic.name])[topic.name].result()
        wait_until(lambda: topic.ensure().id != first)
        produce_to(broker.bootstrap)(topic.name, again)  # a new producer, which does not know the first topic
        delivered.wait(b"a", b"b", b"c", *again)
        produce_to(broker.bootstrap)(topic.name, [b"last"])
        delivered.wait(b"a", b"b", b"c", *again, b"last")


def test_a_topic_that_was_recreated_while_no_listener_ran(
    broker: EmbeddedBroker, admin: AdminClient, new_topic: NewTopic, delivered: Delivered
) -> None:
    """Its id differs, even if it has more messages than before."""
    topic = control_topic(broker, new_topic())
    first = topic.describe().id
    admin.delete_topics([topic.name])[topic.name].result()
    wait_until(lambda: topic.ensure().id != first)
    produce_to(broker.bootstrap)(topic.name, [b"0", b"1", b"2"])
    with listener(topic, delivered, {0: 2}, topic_id=first) as running:
        delivered.wait(b"0", b"1", b"2")
        assert delivered.topic_ids == {running.topic_id} == {topic.describe().id}


def test_offsets_behind_the_end(
    broker: EmbeddedBroker, new_topic: NewTopic, produce: Produce, delivered: Delivered
) -> None:
    """A recreated topic has such offsets: it is read from its beginning."""
    topic = control_topic(broker, new_topic())
    produce(topic.name, [b"0", b"1"])
    with listener(topic, delivered, {0: 9}):
        delivered.wait(b"0", b"1")


def test_more_partitions(
    broker: EmbeddedBroker, admin: AdminClient, new_topic: NewTopic, produce: Produce, delivered: Delivered
) -> None:
    """They are read from their beginning; messages that arrive at once are ordered by time."""
    topic = control_topic(broker, new_topic())
    with listener(topic, delivered):
        produce(topic.name, [b"0"])
        delivered.wait(b"0")
        admin.create_partitions([NewPartitions(topic.name, 3)])[topic.name].result()
        wait_until(lambda: topic.describe().partitions == (0, 1, 2))
        produce_to(broker.bootstrap)(topic.name, [b"1"], partition=2)
        delivered.wait(b"0", b"1")
        produce(topic.name, [b"2"])
        delivered.wait(b"0", b"1", b"2")


def test_the_broker_is_killed(
    own_broker: EmbeddedBroker, delivered: Delivered, caplog: pytest.LogCaptureFixture
) -> None:
    """During the outage nothing arrives; nothing is delivered twice."""
    caplog.set_level(logging.INFO)
    topic = control_topic(own_broker, f"c-{uuid.uuid4()}")
    topic.ensure()
    produce_to(own_broker.bootstrap)(topic.name, [b"0"])
    with listener(topic, delivered):
        delivered.wait(b"0")
        own_broker.kill()
        wait_until(lambda: "trying again until it answers" in caplog.text)
        own_broker.start()
        produce_to(own_broker.bootstrap)(topic.name, [b"1"])
        delivered.wait(b"0", b"1")


def test_starting_without_a_broker(
    own_broker: EmbeddedBroker, delivered: Delivered, caplog: pytest.LogCaptureFixture
) -> None:
    """The listener waits for it; closing does not."""
    topic = control_topic(own_broker, f"c-{uuid.uuid4()}")
    topic.ensure()
    produce_to(own_broker.bootstrap)(topic.name, [b"0"])
    own_broker.kill()
    with listener(topic, delivered):
        pass
    assert not any(thread.name == "evertable-control" for thread in threading.enumerate())
    with listener(topic, delivered):
        wait_until(lambda: "Control messages cannot be read: [KAFKA_UNREACHABLE]" in caplog.text)
        own_broker.start()
        delivered.wait(b"0")


def test_a_topic_that_may_not_be_read(
    own_broker: EmbeddedBroker, delivered: Delivered, caplog: pytest.LogCaptureFixture
) -> None:
    """The error is reported once, and reading is retried until it is allowed."""
    caplog.set_level(logging.INFO)
    topic = control_topic(own_broker, f"c-{uuid.uuid4()}")
    topic.ensure()
    produce_to(own_broker.bootstrap)(topic.name, [b"0"])
    allow_only(own_broker, topic.name, AclOperation.DESCRIBE)
    with listener(topic, delivered):
        wait_until(lambda: "Control messages cannot be read" in caplog.text and "uthoriz" in caplog.text)
        assert delivered == []
        allow_only(own_broker, topic.name, AclOperation.READ)
        delivered.wait(b"0")
    assert caplog.text.count("Control messages cannot be read") == 1
    assert f"Control messages on '{topic.name}' are read again" in caplog.text
