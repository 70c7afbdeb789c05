"""Consumers without a group, and probes that read part of a topic once.

Properties are librdkafka's, as ``KafkaProperties.for_librdkafka`` translates them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from evertable.errors import EvertableError, KafkaUnreachableError, TopicNotFoundError
from evertable.kafka.errors import QUIET, ConnectionErrors, is_transient, without_attempt
from evertable.kafka.outages import OutageLog

GRACE_S = 1.0
"""How long brokers may take to learn of a new topic, and to elect its leaders."""

_RETRY_S = 0.05
_MAX_THREADS = 32  # each partition takes a round trip
_NO_LEADER = frozenset({KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE})
_OUTAGES = OutageLog()


class GrouplessConsumer:
    """A consumer that joins no group and commits nothing, and remembers why its connections fail."""

    def __init__(self, properties: Mapping[str, Any], overrides: Mapping[str, Any]) -> None:
        self.errors = ConnectionErrors(properties)
        self.servers = self.errors.servers
        self._pending: deque[Message] = deque()
        # A consumer sends no records, but librdkafka would refuse a limit for them above fetch.max.bytes.
        properties = {name: value for name, value in properties.items() if name != "message.max.bytes"}
        self.kafka = Consumer(
            {
                "group.id": "evertable",  # librdkafka requires one; without subscriptions and commits it has no effect
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
        """Returns the next record or error; None if there is none within ``timeout_s``."""
        return self._pending.popleft() if self._pending else self.kafka.poll(timeout_s)

    def poll_batch(self, timeout_s: float, most: int) -> list[Message]:
        """Returns the records and errors that have arrived; waits up to ``timeout_s`` if there are none."""
        first = self.poll(timeout_s)
        return [] if first is None else [first, *self.kafka.consume(most - 1, 0)]

    def partitions(self, topic: str, timeout_s: float, grace_s: float = 0.0) -> list[int]:
        """Returns the topic's partitions; TopicNotFoundError if it is missing for ``grace_s``. Never creates it."""
        deadline = time.monotonic() + grace_s
        while True:
            try:
                found = self.kafka.list_topics(topic, timeout=timeout_s).topics[topic]
                if found.error is None:
                    return sorted(found.partitions)
                failure = self.error(found.error, topic, "Describe")
            except KafkaException as problem:
                if message := self.kafka.poll(0):  # delivers the connections' errors to ``_note``
                    self._pending.append(message)
                failure = self.error(problem.args[0], topic)
            if not isinstance(failure, TopicNotFoundError | KafkaUnreachableError) or time.monotonic() >= deadline:
                raise failure
            time.sleep(_RETRY_S)

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        """Returns the offset of the first record, and the one behind the last record of no open transaction.

        Retries while the partition has no leader, as it is new or its broker has just restarted.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                left_s = max(_RETRY_S, deadline - time.monotonic())
                bounds: tuple[int, int] = self.kafka.get_watermark_offsets(TopicPartition(topic, partition), left_s)
                return bounds
            except KafkaException as error:
                if error.args[0].code() not in _NO_LEADER or time.monotonic() >= deadline:
                    raise self.error(error.args[0], topic) from error
            time.sleep(_RETRY_S)

    def error(self, error: KafkaError, topic: str, right: str = "Read") -> EvertableError:
        return self.errors.explain(error, topic, right)

    def close(self) -> None:
        """Closes all connections; idempotent."""
        self.kafka.close()

    def recovered(self) -> None:
        """Ends an outage, as something was read."""
        if self.errors.message:
            _OUTAGES.over(self.servers)
            self.errors.clear()

    def _note(self, error: KafkaError) -> None:
        _OUTAGES.noticed(self.servers, without_attempt(error.str()))
        self.errors.note(error)


class Probe:
    """Reads part of a topic once; KafkaUnreachableError if nothing arrives for ``timeout_s``."""

    @classmethod
    @contextmanager
    def open(
        cls, properties: Mapping[str, Any], topic: str, timeout_s: float, settings: Mapping[str, Any] | None = None
    ) -> Iterator[Self]:
        """Connects, and disconnects at the end; other ``settings`` go over those that every probe needs."""
        consumer = GrouplessConsumer(
            properties, {"isolation.level": "read_committed", "enable.partition.eof": True, **(settings or {})}
        )
        try:
            yield cls(consumer, topic, timeout_s)
        except KafkaException as error:
            raise consumer.error(error.args[0], topic) from error
        finally:
            consumer.close()

    def __init__(self, consumer: GrouplessConsumer, topic: str, timeout_s: float) -> None:
        self._consumer = consumer
        self._kafka = consumer.kafka
        self._topic = topic
        self._timeout_s = timeout_s
        self._restart()

    def _restart(self) -> None:
        """Restarts the timeout."""
        self._deadline = time.monotonic() + self._timeout_s

    def partitions(self, grace_s: float = 0.0) -> list[int]:
        """Returns the topic's partitions; TopicNotFoundError if it is missing for ``grace_s``."""
        return self._consumer.partitions(self._topic, self._left(), grace_s)

    def bounds(self, partitions: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Returns, by partition, the offset of the first record and the one behind the last of no open transaction."""
        wanted = list(partitions)
        if not wanted:
            return {}
        with ThreadPoolExecutor(min(len(wanted), _MAX_THREADS)) as pool:
            found = pool.map(lambda each: self._consumer.bounds(self._topic, each, self._left()), wanted)
            return dict(zip(wanted, found, strict=True))

    def between(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[Message]:
        """Yields all readable records from ``begins`` on and before ``ends``; each message restarts the timeout."""
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
        """Returns whether to skip a transient error; raises other errors. The end of a partition is not an error."""
        error = message.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            return False
        if not is_transient(error):
            raise self._consumer.error(error, self._topic)
        return True

    def _left(self) -> float:
        """Returns the seconds until the deadline; raises after it."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            if self._consumer.errors.message:
                raise self._consumer.error(KafkaError(KafkaError._TIMED_OUT), self._topic)
            raise KafkaUnreachableError(
                f"Kafka at {self._consumer.servers} did not return all of '{self._topic}' in {self._timeout_s:g} s.",
                "Check that all of its partitions have a leader.",
            )
        return left


def place(message: Message) -> tuple[int, int]:
    """Returns a message's partition and offset."""
    return cast(int, message.partition()), cast(int, message.offset())
