"""What the changelog's Kafka clients have in common: a plain consumer without a group, and clear errors.

Properties are librdkafka's, as :mod:`evertable.config` translates them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from evertable.errors import EvertableError, KafkaUnreachableError, TopicNotFoundError
from evertable.kafka.errors import QUIET, TRANSIENT, ConnectionErrors, without_attempt
from evertable.kafka.outages import OutageLog

GRACE_S = 1.0
"""How long brokers may take to learn of a topic that was just created, and to find a leader for it."""

_ASK_AGAIN_S = 0.05
_AT_ONCE = 32  # partitions; each takes a round trip
_NO_LEADER = frozenset({KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE})
_OUTAGES = OutageLog()


class GrouplessConsumer:
    """A consumer that belongs to no group and commits nothing, and remembers what troubles it."""

    def __init__(self, properties: Mapping[str, Any], overrides: Mapping[str, Any]) -> None:
        self.errors = ConnectionErrors(properties)
        self.servers = self.errors.servers
        self._heard: deque[Message] = deque()
        self.kafka = Consumer(
            {
                "group.id": "evertable",  # librdkafka insists; without subscriptions and commits it means nothing
                **properties,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "allow.auto.create.topics": False,
                "auto.offset.reset": "error",
                "error_cb": self._note,
                **overrides,
            },
            logger=QUIET,
        )

    def poll(self, timeout_s: float) -> Message | None:
        """The next record or error, at once if there is one; None if there is nothing for ``timeout_s``."""
        return self._heard.popleft() if self._heard else self.kafka.poll(timeout_s)

    def partitions(self, topic: str, timeout_s: float, grace_s: float = 0.0) -> list[int]:
        """The topic's partitions; TopicNotFoundError if there is none for ``grace_s``, and none is made by asking."""
        deadline = time.monotonic() + grace_s
        while True:
            try:
                return self._partitions(topic, timeout_s)
            except (TopicNotFoundError, KafkaUnreachableError):
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_ASK_AGAIN_S)

    def _partitions(self, topic: str, timeout_s: float) -> list[int]:
        try:
            found = self.kafka.list_topics(topic, timeout=timeout_s).topics[topic]
        except KafkaException as error:
            self._hear()
            raise self.error(error.args[0], topic) from error
        if found.error is not None:
            raise self.error(found.error, topic, "Describe")
        return sorted(found.partitions)

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        """The offsets of the first record and behind the last one that is not part of an open transaction.

        A partition that is new, or whose broker is only just back, has no leader for a moment: it is asked again.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                left_s = max(_ASK_AGAIN_S, deadline - time.monotonic())
                bounds: tuple[int, int] = self.kafka.get_watermark_offsets(TopicPartition(topic, partition), left_s)
                return bounds
            except KafkaException as error:
                if error.args[0].code() not in _NO_LEADER or time.monotonic() >= deadline:
                    raise self.error(error.args[0], topic) from error
            time.sleep(_ASK_AGAIN_S)

    def error(self, error: KafkaError, topic: str, right: str = "Read") -> EvertableError:
        return self.errors.explain(error, topic, right)

    def close(self) -> None:
        """Lets go of all connections; closing twice does no harm."""
        self.kafka.close()

    def recovered(self) -> None:
        """To be called when something was read."""
        if self.errors.message:
            _OUTAGES.over(self.servers)
            self.errors.clear()

    def _hear(self) -> None:
        """Brings what happened on the connections to ``_note``; a message that comes along is kept for ``poll``."""
        message = self.kafka.poll(0)
        if message is not None:
            self._heard.append(message)

    def _note(self, error: KafkaError) -> None:
        _OUTAGES.noticed(self.servers, without_attempt(error.str()))
        self.errors.note(error)


class Probe:
    """One look at a topic by a plain consumer, for ``timeout_s`` at most, or KafkaUnreachableError."""

    def __init__(self, consumer: GrouplessConsumer, topic: str, timeout_s: float) -> None:
        self._consumer = consumer
        self._kafka = consumer.kafka
        self._topic = topic
        self._timeout_s = timeout_s
        self._restart()

    def _restart(self) -> None:
        """The time counts from now on."""
        self._deadline = time.monotonic() + self._timeout_s

    def _bounds(self, partitions: Iterable[int]) -> dict[int, tuple[int, int]]:
        """For each of these, the offsets of the first record and behind the last one of no open transaction."""
        asked = list(partitions)
        if not asked:
            return {}
        with ThreadPoolExecutor(min(len(asked), _AT_ONCE)) as pool:
            found = pool.map(lambda each: self._consumer.bounds(self._topic, each, self._left()), asked)
            return dict(zip(asked, found, strict=True))

    def _between(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[Message]:
        """All records that can be read from ``begins`` on and before ``ends``; it is silence that is not waited for."""
        pending = {partition for partition, begin in begins.items() if begin < ends[partition]}
        self._kafka.assign([TopicPartition(self._topic, partition, begins[partition]) for partition in pending])
        while pending:
            message = self._kafka.poll(self._left())
            if message is None or self._passes(message):
                continue
            self._restart()
            partition, offset = place(message)
            is_record = message.error() is None and offset < ends[partition]
            if is_record:
                yield message
            if not is_record or offset == ends[partition] - 1:
                pending.discard(partition)

    def _passes(self, message: Message) -> bool:
        """Whether this is trouble that passes by itself; other trouble is raised, the end of a partition is none."""
        error = message.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            return False
        if error.code() not in TRANSIENT and not error.retriable():
            raise self._consumer.error(error, self._topic)
        return True

    def _left(self) -> float:
        """Seconds until the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            if self._consumer.errors.message:
                raise self._consumer.error(KafkaError(KafkaError._TIMED_OUT), self._topic)
            raise KafkaUnreachableError(
                f"Kafka at {self._consumer.servers} did not show all of '{self._topic}': no answer in time.",
                "Check that all of its partitions have a leader.",
            )
        return left


def place(message: Message) -> tuple[int, int]:
    """A message's partition and offset."""
    return cast(int, message.partition()), cast(int, message.offset())
