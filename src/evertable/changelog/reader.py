"""Reads a changelog topic as a stream of Changes."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Message, TopicPartition

from evertable.changelog.changes import Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.schema import ChangelogSchema
from evertable.errors import ChangelogError, KafkaAccessError, KafkaUnreachableError
from evertable.kafka.consumer import GRACE_S, GrouplessConsumer
from evertable.kafka.errors import ErrorKind, is_transient

MAX_MESSAGES = 10_000
"""Messages to decode at once; more are not faster."""

MAX_BYTES = 4 << 20
"""Bytes to decode at once, unless one message is larger: half a million matches, ten times as large in memory."""

_CHECK_TIMEOUT_S = 1.0

_TUNED = {
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 500,  # only while idle: a waiting fetch is answered as soon as there is a byte
    "fetch.queue.backoff.ms": 5,  # at the default of 1000, a full queue stops fetching for a second
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 16_384,  # limits what is read ahead, however large the messages are
    "reconnect.backoff.max.ms": 1_000,
    "socket.timeout.ms": 10_000,  # only a request that times out reveals a dead connection
}


class ChangelogReader:
    """Reads all partitions of one changelog, from the beginning or from given offsets; not thread-safe.

    While a broker is unreachable, ``poll`` returns None, and reading continues when it is back. Permanent errors and
    records that this version cannot read raise an EvertableError. Only after a KafkaAccessError can the reader be used
    again, by ``reopen``. If ``partitions`` is given, the constructor does not connect to Kafka.
    """

    def __init__(
        self,
        properties: Mapping[str, Any],
        topic: str,
        schema: ChangelogSchema,
        offsets: Mapping[int, int] | None = None,
        *,
        partitions: int | None = None,
        max_messages: int = MAX_MESSAGES,
        timeout_s: float = 10.0,
        check_s: float = 10.0,
    ) -> None:
        self.topic = topic
        self._properties = properties
        self._decoder = Decoder(schema)
        self._max_messages = max_messages
        self._timeout_s = timeout_s
        self._check_s = check_s
        self._alive_at = time.monotonic()
        self._undecoded: list[Message] = []
        self._consumer = GrouplessConsumer(properties, _TUNED)
        try:
            known = self._consumer.partitions(topic, timeout_s, GRACE_S) if partitions is None else range(partitions)
            self._positions = {partition: (offsets or {}).get(partition, 0) for partition in known}
            self._assign()
        except BaseException:
            self.close()
            raise

    @property
    def positions(self) -> dict[int, int]:
        """The next offset to read, by partition of the changelog."""
        return dict(self._positions)

    def poll(self, timeout_s: float) -> Changes | None:
        """Returns the records received, without waiting for more; None if there is none within ``timeout_s``."""
        messages = self._undecoded or self._receive(timeout_s)
        if not messages:
            return None
        messages, self._undecoded = _split(messages)
        self._require_no_gap(messages)
        changes = self._decoder.decode(
            list(map(Message.value, messages)),
            lambda i: f"record at {self.topic}[{messages[i].partition()}], offset {messages[i].offset()}",
        )
        self._advance(messages)
        return changes

    def reopen(self) -> None:
        """Continues with a new consumer, as librdkafka reports an access error only once; may raise it again."""
        self._consumer.close()
        self._undecoded = []
        self._consumer = GrouplessConsumer(self._properties, _TUNED)
        self._alive_at = -math.inf  # so that the first empty poll checks the topic
        self._check_topic()
        self._assign()

    def end(self) -> dict[int, int]:
        """Returns the offset after the last record, by partition of the changelog."""
        return {
            partition: self._consumer.bounds(self.topic, partition, self._timeout_s)[1] for partition in self._positions
        }

    def close(self) -> None:
        """Closes all connections; may be called twice."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _assign(self) -> None:
        self._consumer.kafka.assign([TopicPartition(self.topic, *at) for at in self._positions.items()])

    def _receive(self, timeout_s: float) -> list[Message]:
        first = self._consumer.poll(timeout_s)
        if first is None:
            if time.monotonic() - self._alive_at >= self._check_s:
                self._check_topic()
            return []
        # poll() returns at the first record; consume() alone would wait for as many as it may return
        messages = [first, *self._consumer.kafka.consume(self._max_messages - 1, 0)]
        if any(map(Message.error, messages)):
            messages = self._without_errors(messages)
        if messages:
            self._note_alive()
        return messages

    def _require_no_gap(self, messages: Sequence[Message]) -> None:
        """Raises ChangelogError if records are missing: without transactions and compaction, offsets have no gaps."""
        if len(self._positions) == 1:
            counts: Mapping[Any, int] = {messages[-1].partition(): len(messages)}
            last: Mapping[Any, Any] = {messages[-1].partition(): messages[-1].offset()}
        else:
            counts = Counter(map(Message.partition, messages))
            last = {message.partition(): message.offset() for message in messages}
        for partition, count in counts.items():
            if (missing := last[partition] + 1 - self._positions[partition] - count) != 0:
                raise ChangelogError(
                    f"The changelog '{self.topic}' is damaged: {missing:,} of the offsets {self._positions[partition]} "
                    f"to {last[partition]} of partition {partition} are missing.",
                    "The generation is rebuilt; check the disks of the Kafka that keeps it.",
                )

    def _advance(self, messages: Sequence[Message]) -> None:
        if len(self._positions) == 1:
            messages = messages[-1:]
        partitions, offsets = map(Message.partition, messages), map(Message.offset, messages)
        last: dict[Any, Any] = dict(zip(partitions, offsets, strict=True))
        self._positions.update({partition: offset + 1 for partition, offset in last.items()})

    def _check_topic(self) -> None:
        """Raises if the topic was deleted or access to it was denied, which librdkafka may never report."""
        try:
            self._consumer.partitions(self.topic, _CHECK_TIMEOUT_S)
        except KafkaAccessError:
            raise
        except KafkaUnreachableError:
            return  # an outage: poll again later
        self._note_alive()

    def _note_alive(self) -> None:
        self._alive_at = time.monotonic()
        self._consumer.recovered()

    def _without_errors(self, messages: Sequence[Message]) -> list[Message]:
        """Returns the messages that are records; raises for permanent errors."""
        for error in filter(None, map(Message.error, messages)):
            if ErrorKind.of(error) is ErrorKind.MISSING:  # a restarting broker may report this for a topic that exists
                self._check_topic()
            elif not is_transient(error):
                raise self._consumer.error(error, self.topic)
        return [message for message in messages if message.error() is None]


def _split(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """Returns the messages to decode at once, at least one, and the rest."""
    if sum(map(len, messages)) <= MAX_BYTES:
        return messages, []
    count = max(1, bisect_right(list(accumulate(map(len, messages))), MAX_BYTES))
    return messages[:count], messages[count:]
