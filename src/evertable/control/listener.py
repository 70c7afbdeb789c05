"""The listener on the control topic: a thread that passes on each message as it arrives."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing

from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from evertable.control.messages import ControlMessage
from evertable.control.topic import ControlTopic, control_message
from evertable.errors import EvertableError, KafkaUnreachableError, NotAuthorizedError
from evertable.kafka.consumer import GrouplessConsumer, place
from evertable.kafka.errors import ErrorKind
from evertable.kafka.outages import WarningThrottle
from evertable.kafka.topics import Topic

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


class ControlListener:
    """Calls ``on_message`` for every message from the given offsets on, with the topic's id, on a thread of its own.

    It survives outages of the broker, and creates a missing topic. A topic that was recreated, also since it had the
    given ``topic_id``, is read from its beginning, and so are added partitions. Messages of one partition arrive in
    their order, those of several that arrive at once in the order of their timestamps. An exception of the callback is
    logged, and its message is not repeated.
    """

    def __init__(
        self,
        topic: ControlTopic,
        after: Mapping[int, int],
        on_message: Callable[[ControlMessage, str | None], None],
        report: Callable[[str, str], None],
        *,
        topic_id: str | None = None,
        check_s: float = CHECK_S,
    ) -> None:
        self.topic_id = topic_id
        """The id of the topic that is read; None if the broker has no ids, or before the first check."""
        self._topic = topic
        self._positions = dict(after)
        self._on_message = on_message
        self._report = report
        self._check_s = check_s
        self._warnings = WarningThrottle()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evertable-control", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Ends the thread and waits for it. May be called again, and before ``start``."""
        self._ending.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

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
        """Listens until the end, or until the topic has changed, which takes another consumer."""
        topic = self._topic.ensure(_ASK_S)
        if None not in (self.topic_id, topic.id) and self.topic_id != topic.id:
            log.warning("The control topic '%s' was recreated; reading it from its beginning", self._topic.name)
            self._positions.clear()
        self.topic_id = topic.id
        with closing(GrouplessConsumer(self._topic.kafka.for_librdkafka(), _TUNED)) as consumer:
            begins = {at: self._positions.get(at, OFFSET_BEGINNING) for at in topic.partitions}
            consumer.kafka.assign([TopicPartition(self._topic.name, at, begin) for at, begin in begins.items()])
            if self._warnings.over():
                self._report("INFO", f"Control messages on '{self._topic.name}' are read again")
            check_at = time.monotonic() + self._check_s
            while not self._ending.is_set():
                messages = consumer.poll_batch(_POLL_S, _BATCH)
                if self._has_lost_position(messages, consumer):
                    return
                if messages or time.monotonic() >= check_at:
                    if not self._is_still(topic, consumer):
                        return
                    check_at = time.monotonic() + self._check_s
                self._deliver(_merged(control_message(message) for message in messages if message.error() is None))

    def _has_lost_position(self, messages: Iterable[Message], consumer: GrouplessConsumer) -> bool:
        """Drops the positions of messages that no longer exist, and returns whether there were any."""
        lost = False
        for message in messages:
            error = message.error()
            kind = ErrorKind.of(error) if error else None
            if kind is ErrorKind.OUT_OF_RANGE:
                where = f"{self._topic.name}[{place(message)[0]}]"
                log.warning("The next message on %s no longer exists; reading from the beginning", where)
                self._positions.pop(place(message)[0], None)
                lost = True
            elif error and kind not in (ErrorKind.TRANSIENT, ErrorKind.MISSING):  # missing while a broker starts
                raise consumer.error(error, self._topic.name)
        return lost

    def _is_still(self, topic: Topic, consumer: GrouplessConsumer) -> bool:
        """Returns whether the topic still has the same id and partitions."""
        try:
            found = self._topic.describe(_ASK_S)
        except NotAuthorizedError:
            raise  # it needs the operator
        except KafkaUnreachableError:  # the consumer logs it, and continues afterwards
            return True
        consumer.recovered()
        return found == topic

    def _deliver(self, messages: Iterable[ControlMessage]) -> None:
        for message in messages:
            if self._ending.is_set():
                return
            try:
                self._on_message(message, self.topic_id)
            except Exception:
                where = f"{self._topic.name}[{message.partition}], offset {message.offset}"
                log.exception("The control message at %s could not be processed", where)
            self._positions[message.partition] = message.offset + 1


def _merged(messages: Iterable[ControlMessage]) -> Iterator[ControlMessage]:
    """Merges the partitions by timestamp, without changing the order within one."""
    partitions: dict[int, list[ControlMessage]] = {}
    for message in messages:
        partitions.setdefault(message.partition, []).append(message)
    return heapq.merge(*partitions.values(), key=lambda message: (message.timestamp, message.partition))
