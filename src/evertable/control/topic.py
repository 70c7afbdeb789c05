"""The control topic on its cluster: described, created if it is missing, read to its end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from confluent_kafka import Message

from evertable.control.messages import ControlMessage, in_order
from evertable.errors import EvertableError, KafkaUnreachableError, TopicNotFoundError
from evertable.kafka import topics
from evertable.kafka.admin import Admin
from evertable.kafka.consumer import Probe, place
from evertable.kafka.properties import KafkaProperties
from evertable.kafka.topics import Topic

TIMEOUT_S = 10.0

_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1"}  # the few messages are the history of all swaps
_BROKERS_CHOICE = -1
_TO_THE_END = {
    "auto.offset.reset": "earliest",  # if retention has deleted the position
    "fetch.wait.max.ms": 10,
}


class ControlTopic:
    """One control topic, by the ``kafka`` section of the configuration and the topic's name."""

    def __init__(self, kafka: KafkaProperties, name: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self.kafka = kafka
        self.name = name
        self.servers = kafka.for_librdkafka().get("bootstrap.servers", "")
        self._timeout_s = timeout_s
        self._admin = Admin(kafka.for_librdkafka())

    def describe(self, timeout_s: float | None = None) -> Topic:
        """Returns the topic as it is now; TopicNotFoundError, KafkaUnreachableError. Never creates it."""
        return topics.find(self._admin, self.name, timeout_s=self._timeout_s if timeout_s is None else timeout_s)

    def ensure(self, timeout_s: float | None = None) -> Topic:
        """Returns the topic as ``describe`` does, and creates it if it is missing; KafkaUnreachableError."""
        try:
            return self.describe(timeout_s)
        except TopicNotFoundError:
            pass
        try:
            return topics.create_unless_there(self._admin, self.name, _BROKERS_CHOICE, _SETTINGS, self._timeout_s)
        except EvertableError as error:
            what = f"There is no control topic '{self.name}', and it cannot be created: {error.sentences}"
            raise KafkaUnreachableError(what, "Create it, or set control.enabled to false.") from error

    def read_all(self, after: Mapping[int, int]) -> list[ControlMessage]:
        """Reads all present messages from the given offsets on, in the order of ``in_order``.

        A partition without an offset is read from its beginning, and so is one that ends before its offset, since the
        topic was recreated. Raises TopicNotFoundError or KafkaUnreachableError.
        """
        with self._probe() as probe:
            bounds = probe.bounds(self.describe().partitions)
            ends = {partition: high for partition, (_, high) in bounds.items()}
            begins = {partition: after.get(partition, low) for partition, (low, _) in bounds.items()}
            begins = {at: begin if begin <= ends[at] else bounds[at][0] for at, begin in begins.items()}
            return in_order(map(control_message, probe.between(begins, ends)))

    def positions(self, after: Mapping[int, int], *, from_end: bool) -> dict[int, int]:
        """Returns the next offset of every partition: the given one, else that of its end or beginning."""
        partitions = self.describe().partitions
        with self._probe() as probe:
            bounds = probe.bounds(partition for partition in partitions if partition not in after)
        return {at: after[at] if at in after else bounds[at][from_end] for at in partitions}

    def _probe(self) -> AbstractContextManager[Probe]:
        return Probe.open(self.kafka.for_librdkafka(), self.name, self._timeout_s, _TO_THE_END)


def control_message(message: Message) -> ControlMessage:
    """Converts a Kafka record."""
    value = message.value()
    return ControlMessage(*place(message), message.timestamp()[1], value if isinstance(value, bytes) else None)
