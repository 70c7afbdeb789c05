"""The listener on the control topic: a thread that passes on each message as it arrives."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Self, cast

from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from evertable.control.messages import ControlMessage
from evertable.control.topic import ControlTopic, control_message
from evertable.errors import EvertableError, KafkaUnreachableError, NotAuthorizedError, TopicNotFoundError
from evertable.kafka.consumer import GrouplessConsumer
from evertable.kafka.errors import ErrorKind
from evertable.kafka.outages import WarningThrottle

log = logging.getLogger(__name__)

CHECK_S = 2.0
"""How often to check whether the topic exists, was recreated, or has gained partitions."""
CLOSE_S = 10.0

_POLL_S = 0.25  # delays only a close; messages arrive at once
_ASK_S = 1.0
_BATCH = 1_000  # messages at a time

_TUNED = {
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 500,
    "reconnect.backoff.max.ms": 1_000,
    "socket.timeout.ms": 5_000,  # only an unanswered request detects a dead connection
}


def _log(level: str, message: str) -> None:
    log.log(logging.WARNING if level == "WARN" else logging.INFO, message)


class ControlListener:
    """Calls ``on_message`` for every message from the given offsets on, on a thread of its own.

    It survives outages of the broker, and waits for a missing topic or creates it if ``create_ok``. A topic that was
    recreated, also since it had the given ``topic_id``, is read from its beginning, and so are added partitions.
    Messages of one partition arrive in their order, those of several that arrive at once in the order of their
    timestamps. An exception of the callback is logged, and its message is not repeated.
    """

    def __init__(
        self,
        topic: ControlTopic,
        after: Mapping[int, int],
        on_message: Callable[[ControlMessage], None],
        *,
        topic_id: str | None = None,
        create_ok: bool = False,
        check_s: float = CHECK_S,
        report: Callable[[str, str], None] = _log,
    ) -> None:
        self.topic_id = topic_id
        """The id of the topic that is read; None if the broker has no ids, or before the first check."""
        self._topic = topic
        self._positions = dict(after)
        self._on_message = on_message
        self._create_ok = create_ok
        self._check_s = check_s
        self._report = report
        self._warnings = WarningThrottle()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evertable-control", daemon=True)

    @property
    def positions(self) -> dict[int, int]:
        """The next offset of each partition, at first as given."""
        return dict(self._positions)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Ends the thread and waits for it. May be called again, and before ``start``."""
        self._ending.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._listen()
            except EvertableError as error:
                if self._warnings.due(str(error)):
                    self._report("WARN", f"Control messages cannot be read: {error} Retrying.")
                self._ending.wait(self._check_s)
            except Exception:  # without this, control messages would stop unnoticed
                log.exception("Reading the control topic '%s' failed; retrying", self._topic.name)
                self._ending.wait(self._check_s)

    def _listen(self) -> None:
        """Listens until the end, or until the topic has changed and must be described again."""
        try:
            found = self._topic.describe(_ASK_S)
        except TopicNotFoundError:
            if not self._create_ok:
                raise
            self._topic.create()
            return
        if None not in (self.topic_id, found.id) and self.topic_id != found.id:
            log.warning("The control topic '%s' was recreated; reading it from its beginning", self._topic.name)
            self._positions.clear()
        self.topic_id = found.id
        with closing(_Subscription(self._topic, self._positions)) as subscription:
            subscription.add(found.partitions)
            if self._warnings.over():
                self._report("INFO", f"Control messages on '{self._topic.name}' are read again")
            checked = time.monotonic()
            while not (self._ending.is_set() or subscription.lost):
                messages = subscription.receive(_POLL_S)
                if messages or subscription.in_doubt or time.monotonic() - checked >= self._check_s:
                    if not self._is_the_same(subscription):
                        return
                    checked = time.monotonic()
                self._deliver(messages)

    def _is_the_same(self, subscription: _Subscription) -> bool:
        """Returns whether the topic still has the same id, and subscribes to its new partitions."""
        try:
            found = self._topic.describe(_ASK_S)
        except NotAuthorizedError:
            raise  # it needs the operator
        except KafkaUnreachableError:  # the consumer logs it, and continues afterwards
            return True
        if found.id != self.topic_id:
            return False
        subscription.is_well()
        subscription.add(found.partitions)
        return True

    def _deliver(self, messages: Iterable[ControlMessage]) -> None:
        for message in messages:
            if self._ending.is_set():
                return
            try:
                self._on_message(message)
            except Exception:
                where = f"{self._topic.name}[{message.partition}], offset {message.offset}"
                log.exception("The control message at %s could not be processed", where)
            self._positions[message.partition] = message.offset + 1


class _Subscription:
    """A consumer of the topic as it was last described."""

    def __init__(self, topic: ControlTopic, positions: dict[int, int]) -> None:
        self.in_doubt = False
        """Whether Kafka does not know the topic, which may be because a broker is starting."""
        self.lost = False
        """Whether the next message no longer exists; its position was dropped."""
        self._topic = topic.name
        self._positions = positions
        self._partitions: set[int] = set()
        self._consumer = GrouplessConsumer(topic.kafka.for_librdkafka(), _TUNED)

    def add(self, partitions: Iterable[int]) -> None:
        """Adds partitions, each from its position or else from its beginning."""
        new = set(partitions) - self._partitions
        if new:
            places = [TopicPartition(self._topic, p, self._positions.get(p, OFFSET_BEGINNING)) for p in sorted(new)]
            self._consumer.kafka.incremental_assign(places)
            self._partitions |= new

    def receive(self, timeout_s: float) -> list[ControlMessage]:
        """Returns the messages that have arrived; waits only if there are none."""
        first = self._consumer.kafka.poll(timeout_s)
        if first is None:
            return []
        messages = [first, *self._consumer.kafka.consume(_BATCH - 1, 0)]
        for message in messages:
            self._check_error(message)
        return list(_merged(control_message(message) for message in messages if message.error() is None))

    def is_well(self) -> None:
        self.in_doubt = False
        self._consumer.recovered()

    def close(self) -> None:
        self._consumer.close()

    def _check_error(self, message: Message) -> None:
        error = message.error()
        if error is None or (kind := ErrorKind.of(error)) is ErrorKind.TRANSIENT:
            return
        if kind is ErrorKind.OUT_OF_RANGE:
            partition = cast(int, message.partition())
            log.warning(
                "The next message on %s[%s] no longer exists; reading from the beginning", self._topic, partition
            )
            self._positions.pop(partition, None)
            self.lost = True
        elif kind is ErrorKind.MISSING:
            self.in_doubt = True
        else:
            raise self._consumer.error(error, self._topic)


def _merged(messages: Iterable[ControlMessage]) -> Iterator[ControlMessage]:
    """Merges the partitions by timestamp, without changing the order within one."""
    partitions: dict[int, list[ControlMessage]] = {}
    for message in messages:
        partitions.setdefault(message.partition, []).append(message)
    return heapq.merge(*partitions.values(), key=lambda message: (message.timestamp, message.partition))
