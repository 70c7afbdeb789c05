"""The changelog reader: a changelog topic as a stream of Changes."""

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
"""To decode at once; more are not faster."""

MAX_BYTES = 4 << 20
"""To decode at once, if it is more than one message: half a million matches, which take ten times as much."""

_ASK_TIMEOUT_S = 1.0

_TUNED = {
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 500,  # for idle times only: a waiting fetch is answered as soon as there is a byte
    "fetch.queue.backoff.ms": 5,  # librdkafka's 1000 starves a fast reader: a full queue means no fetch for a second
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 16_384,  # what is read ahead at most, however large the messages are
    "reconnect.backoff.max.ms": 1_000,
    "socket.timeout.ms": 10_000,  # a dead connection is noticed only by a request that is not answered in time
}


class ChangelogReader:
    """Reads all partitions of one changelog, from the beginning or from given offsets; for use by one thread.

    A broker's outage shows as silence, and reading goes on when it is back. What cannot pass by itself raises an
    EvertableError, and so does a record that this version cannot read. After a KafkaAccessError, and only then,
    ``reopen`` and reading on is of use. If ``partitions`` is given, Kafka is first asked by the first ``poll``.
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
        self._alive = time.monotonic()
        self._waiting: list[Message] = []
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
        """For each partition of the changelog, the offset that is read next."""
        return dict(self._positions)

    def poll(self, timeout_s: float) -> Changes | None:
        """What has come in, at once if there is something; None if there is nothing for ``timeout_s``."""
        messages = self._waiting or self._receive(timeout_s)
        if not messages:
            return None
        messages, self._waiting = _split(messages)
        self._require_no_gap(messages)
        changes = self._decoder.decode(
            list(map(Message.value, messages)),
            lambda i: f"record at {self.topic}[{messages[i].partition()}], offset {messages[i].offset()}",
        )
        self._advance(messages)
        return changes

    def reopen(self) -> None:
        """Reads on with a new consumer, or raises KafkaAccessError again: librdkafka would say it only once."""
        self._consumer.close()
        self._waiting = []
        self._consumer = GrouplessConsumer(self._properties, _TUNED)
        self._alive = -math.inf  # so that its first silence is looked into
        self._ask_after_topic()
        self._assign()

    def end(self) -> dict[int, int]:
        """For each partition of the changelog, the offset behind its last record now."""
        return {
            partition: self._consumer.bounds(self.topic, partition, self._timeout_s)[1] for partition in self._positions
        }

    def close(self) -> None:
        """Lets go of all connections; closing twice does no harm."""
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
            if time.monotonic() - self._alive >= self._check_s:
                self._ask_after_topic()
            return []
        # poll() wakes for the first record, where consume() alone would wait for as many as it may return
        messages = [first, *self._consumer.kafka.consume(self._max_messages - 1, 0)]
        if any(map(Message.error, messages)):
            messages = self._without_errors(messages)
        if messages:
            self._is_alive()
        return messages

    def _require_no_gap(self, messages: Sequence[Message]) -> None:
        """Raises if records are missing: without transactions and compaction, a changelog skips no offset."""
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
                    "Its generation is built anew; check the disks of the Kafka that keeps it.",
                )

    def _advance(self, messages: Sequence[Message]) -> None:
        if len(self._positions) == 1:
            messages = messages[-1:]
        partitions, offsets = map(Message.partition, messages), map(Message.offset, messages)
        last: dict[Any, Any] = dict(zip(partitions, offsets, strict=True))
        self._positions.update({partition: offset + 1 for partition, offset in last.items()})

    def _ask_after_topic(self) -> None:
        """Raises if the topic was deleted or we are kept out of it, of which librdkafka may say nothing, for ever."""
        try:
            self._consumer.partitions(self.topic, _ASK_TIMEOUT_S)
        except KafkaAccessError:
            raise
        except KafkaUnreachableError:
            return  # an outage, which shows as silence
        self._is_alive()

    def _is_alive(self) -> None:
        self._alive = time.monotonic()
        self._consumer.recovered()

    def _without_errors(self, messages: Sequence[Message]) -> list[Message]:
        """The messages that are records; raises for an error that does not pass by itself."""
        for error in filter(None, map(Message.error, messages)):
            if ErrorKind.of(error) is ErrorKind.MISSING:  # a restarting broker may say so of a topic that it has
                self._ask_after_topic()
            elif not is_transient(error):
                raise self._consumer.error(error, self.topic)
        return [message for message in messages if message.error() is None]


def _split(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """The messages to decode at once, at least one, and the rest."""
    if sum(map(len, messages)) <= MAX_BYTES:
        return messages, []
    count = max(1, bisect_right(list(accumulate(map(len, messages))), MAX_BYTES))
    return messages[:count], messages[count:]
