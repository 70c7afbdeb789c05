"""The ear on the control topic: a thread that tells of each message as it comes."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from types import TracebackType
from typing import Self, cast

from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from evertable.control.messages import ControlMessage
from evertable.control.topic import ControlTopic, Presence, control_message
from evertable.errors import EvertableError, KafkaUnreachableError, NotAuthorizedError, TopicNotFoundError
from evertable.kafka.consumer import GrouplessConsumer
from evertable.kafka.errors import ErrorKind
from evertable.kafka.outages import WarningThrottle
from evertable.kafka.properties import Role

log = logging.getLogger(__name__)

CHECK_S = 2.0
"""How often the topic itself is looked at: whether it is there, the same, and has no more partitions."""
CLOSE_S = 10.0

_POLL_S = 0.25  # what a close waits for at most while all is well; a message does not wait
_ASK_S = 1.0
_MOST = 1_000  # messages at a time

_TUNED = {
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 500,
    "reconnect.backoff.max.ms": 1_000,
    "socket.timeout.ms": 5_000,  # a dead connection is noticed only by a request that is not answered in time
}


def _log(level: str, message: str) -> None:
    log.log(logging.WARNING if level == "WARN" else logging.INFO, message)


class ControlListener:
    """Tells ``on_message`` of every message from the given next offsets on, on a thread of its own.

    It lives through outages of the broker and waits for a topic that is missing, making it where ``create_ok``. One
    that was deleted and made again (also since ``topic_id`` was seen, to which the offsets belong) is read from its
    beginning, and so are partitions that were added. Messages of one
    partition come in their order, those of several that came at once in that of their timestamps. A callback that
    raises is logged, and its message counts as told.
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
        say: Callable[[str, str], None] = _log,
    ) -> None:
        self.topic_id = topic_id
        """The id of the topic of which messages are told; None if the broker tells none, or before it was looked at."""
        self._topic = topic
        self._positions = dict(after)
        self._on_message = on_message
        self._create_ok = create_ok
        self._check_s = check_s
        self._say = say
        self._warnings = WarningThrottle()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evertable-control", daemon=True)

    @property
    def positions(self) -> dict[int, int]:
        """For each partition of which a message was told, the offset that comes next; the given ones before that."""
        return dict(self._positions)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Ends the thread and waits for it; nothing is told afterwards. May be called again, and before ``start``."""
        self._ending.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._listen()
            except TopicNotFoundError as error:
                self._missing(error)
            except EvertableError as error:
                self._trouble(str(error))
            except Exception:  # nobody else would notice that nothing is heard any more
                log.exception("Listening to the control topic '%s' failed; trying again", self._topic.name)
                self._ending.wait(self._check_s)

    def _listen(self) -> None:
        """Until the end, or until the topic is not what it was and has to be looked at anew."""
        found = self._topic.describe(_ASK_S)
        if None not in (self.topic_id, found.id) and self.topic_id != found.id:
            log.warning("The control topic '%s' was made again; it is read from its beginning", self._topic.name)
            self._positions.clear()
        self.topic_id = found.id
        with closing(_Ear(self._topic, self._positions)) as ear:
            ear.add(found.partitions)
            self._all_is_well()
            looked = time.monotonic()
            while not (self._ending.is_set() or ear.lost):
                messages = ear.receive(_POLL_S)
                if messages or ear.in_doubt or time.monotonic() - looked >= self._check_s:
                    if not self._is_the_same(ear):
                        return
                    looked = time.monotonic()
                self._tell(messages)

    def _is_the_same(self, ear: _Ear) -> bool:
        """Whether the topic is the one that was looked at; its new partitions are listened to."""
        try:
            found = self._topic.describe(_ASK_S)
        except NotAuthorizedError:
            raise  # which does not pass by itself
        except KafkaUnreachableError:  # the consumer says so, and goes on when it passes
            return True
        if found.id != self.topic_id:
            return False
        ear.is_well()
        ear.add(found.partitions)
        return True

    def _tell(self, messages: Iterable[ControlMessage]) -> None:
        for message in messages:
            if self._ending.is_set():
                return
            try:
                self._on_message(message)
            except Exception:
                where = f"{self._topic.name}[{message.partition}], offset {message.offset}"
                log.exception("The control message at %s could not be dealt with", where)
            self._positions[message.partition] = message.offset + 1

    def _missing(self, error: TopicNotFoundError) -> None:
        presence = self._topic.ensure(create_ok=True) if self._create_ok else Presence(False, warning=str(error))
        if presence.made:
            log.info("Made the control topic '%s'", self._topic.name)
        if not presence.there:
            self._trouble(presence.warning)

    def _trouble(self, what: str) -> None:
        if self._warnings.due(what):
            self._say("WARN", f"Control messages are not heard: {what} Trying again until they are.")
        self._ending.wait(self._check_s)

    def _all_is_well(self) -> None:
        if self._warnings.over():
            self._say("INFO", f"Control messages on '{self._topic.name}' are heard again")


class _Ear:
    """A consumer of the topic as it was when it was last looked at."""

    def __init__(self, topic: ControlTopic, positions: dict[int, int]) -> None:
        self.in_doubt = False
        """Kafka says that it does not know the topic, as brokers do that are starting."""
        self.lost = False
        """What comes next is not there any more; the position was forgotten."""
        self._topic = topic.name
        self._positions = positions
        self._partitions: set[int] = set()
        self._consumer = GrouplessConsumer(topic.kafka.for_librdkafka(Role.CONSUMER), _TUNED)

    def add(self, partitions: Iterable[int]) -> None:
        """Listens to these too, from where each is to be read next or else from its beginning."""
        new = set(partitions) - self._partitions
        if new:
            places = [TopicPartition(self._topic, p, self._positions.get(p, OFFSET_BEGINNING)) for p in sorted(new)]
            self._consumer.kafka.incremental_assign(places)
            self._partitions |= new

    def receive(self, timeout_s: float) -> list[ControlMessage]:
        """What has come in, at once if there is something."""
        first = self._consumer.kafka.poll(timeout_s)
        if first is None:
            return []
        messages = [first, *self._consumer.kafka.consume(_MOST - 1, 0)]
        for message in messages:
            self._heed(message)
        return list(_in_turn(control_message(message) for message in messages if message.error() is None))

    def is_well(self) -> None:
        self.in_doubt = False
        self._consumer.recovered()

    def close(self) -> None:
        self._consumer.close()

    def _heed(self, message: Message) -> None:
        error = message.error()
        if error is None or (kind := ErrorKind.of(error)) is ErrorKind.TRANSIENT:
            return
        if kind is ErrorKind.OUT_OF_RANGE:
            partition = cast(int, message.partition())
            log.warning("What comes next on %s[%s] is gone; it is read from its beginning", self._topic, partition)
            self._positions.pop(partition, None)
            self.lost = True
        elif kind is ErrorKind.MISSING:
            self.in_doubt = True
        else:
            raise self._consumer.error(error, self._topic)


def _in_turn(messages: Iterable[ControlMessage]) -> Iterator[ControlMessage]:
    """Each partition's in their order, and those of several in the order of their timestamps."""
    partitions: dict[int, list[ControlMessage]] = {}
    for message in messages:
        partitions.setdefault(message.partition, []).append(message)
    return heapq.merge(*partitions.values(), key=lambda message: (message.timestamp, message.partition))
