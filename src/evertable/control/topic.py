"""The control topic on its cluster: described, created if it is missing, read to its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import KafkaException, Message

from evertable.control.messages import ControlMessage, in_order
from evertable.errors import EvertableError, TopicExistsError, TopicNotFoundError
from evertable.kafka import topics
from evertable.kafka.admin import Admin
from evertable.kafka.consumer import GrouplessConsumer, Probe, place
from evertable.kafka.properties import KafkaProperties
from evertable.kafka.topics import Topic

TIMEOUT_S = 10.0

_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1"}  # the few messages are the history of all swaps
_BROKERS_CHOICE = -1
_TO_THE_END = {
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",  # if retention has deleted the position
    "fetch.wait.max.ms": 10,
}


@dataclass(frozen=True)
class TopicCheck:
    """Whether the control topic exists; if not, ``warning`` has the reason and the next step."""

    exists: bool
    created: bool = False
    warning: str = ""


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

    def ensure(self, create_ok: bool) -> TopicCheck:
        """Creates the topic with one partition if it is missing and ``create_ok``; does not raise."""
        try:
            self.describe()
        except TopicNotFoundError as missing:
            return self._create() if create_ok else TopicCheck(False, warning=str(missing))
        except EvertableError as error:
            return TopicCheck(False, warning=str(error))
        return TopicCheck(True)

    def read_all(self, after: Mapping[int, int]) -> list[ControlMessage]:
        """Reads all present messages from the given offsets on, in the order of ``in_order``.

        A partition without an offset is read from its beginning, and so is one that ends before its offset, since the
        topic was recreated. Raises TopicNotFoundError or KafkaUnreachableError.
        """
        partitions = self.describe().partitions
        with self._reading() as reading:
            return in_order(reading.messages(partitions, after))

    def positions(self, after: Mapping[int, int], *, from_end: bool) -> dict[int, int]:
        """Returns the next offset of every partition: the given one, else that of its end or beginning."""
        partitions = self.describe().partitions
        with self._reading() as reading:
            bounds = reading.bounds(partition for partition in partitions if partition not in after)
        unknown = {partition: bound[from_end] for partition, bound in bounds.items()}
        return {partition: after[partition] for partition in partitions if partition in after} | unknown

    @contextmanager
    def _reading(self) -> Iterator[_Reading]:
        consumer = GrouplessConsumer(self.kafka.for_librdkafka(), _TO_THE_END)
        try:
            yield _Reading(consumer, self.name, self._timeout_s)
        except KafkaException as problem:
            raise consumer.error(problem.args[0], self.name) from problem
        finally:
            consumer.close()

    def _create(self) -> TopicCheck:
        try:
            topics.create(self._admin, self.name, 1, _BROKERS_CHOICE, _SETTINGS, self._timeout_s)
        except TopicExistsError:
            return TopicCheck(True)
        except EvertableError as error:
            what = f"There is no control topic '{self.name}', and it cannot be created: {error.sentences}"
            return TopicCheck(False, warning=f"{what} Create it, or set control.enabled to false.")
        return TopicCheck(True, created=True)


def control_message(message: Message) -> ControlMessage:
    """Converts a Kafka record."""
    value = message.value()
    return ControlMessage(*place(message), message.timestamp()[1], value if isinstance(value, bytes) else None)


class _Reading(Probe):
    """One reading of all that a topic holds."""

    def bounds(self, partitions: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Returns, by partition, the offset of the first message and the one after the last."""
        return self._bounds(partitions)

    def messages(self, partitions: tuple[int, ...], after: Mapping[int, int]) -> list[ControlMessage]:
        begins, ends = {}, {}
        for partition, (low, high) in self._bounds(partitions).items():
            begin = after.get(partition, low)
            begins[partition] = begin if begin <= high else low
            ends[partition] = high
        return [control_message(message) for message in self._between(begins, ends)]
