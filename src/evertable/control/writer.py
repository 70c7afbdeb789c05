"""Control messages written by Evertable itself, so that there is one truth: the control topic."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from evertable.control.messages import ControlMessage
from evertable.control.topic import TIMEOUT_S, ControlTopic
from evertable.errors import ControlReadOnlyError, EvertableError, KafkaUnreachableError
from evertable.kafka.consumer import place
from evertable.kafka.errors import QUIET, ConnectionErrors, ErrorKind
from evertable.kafka.properties import Role

FIRST_TRY = 0.3
"""Of the time that a write may take, for a connection that is there already."""
PARTITION = 0
"""All that one Evertable writes goes there, so that it stays in order."""

log = logging.getLogger(__name__)

_NOW = 0  # librdkafka's word for it
_NOT_TAKEN = frozenset(
    {KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}
)


class Writer:
    """Writes messages to the control topic, one at a time; any thread may."""

    def __init__(self, topic: ControlTopic, *, timeout_s: float = TIMEOUT_S) -> None:
        self._topic = topic
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._trouble = ConnectionErrors({})

    def connect(self) -> None:
        """Begins to get ready, which takes librdkafka half a second, so that the first message need not wait for it."""
        with self._lock:
            self._producer = self._producer or self._connected()

    def write(self, message: Mapping[str, object]) -> tuple[int, int]:
        """The partition and offset at which ``message`` stands, once all replicas have it.

        A connection that was idle may have been dropped silently. So a message that is not taken soon is written anew
        over a new connection, and may then stand there twice, which changes nothing: it names what is wanted.

        ControlReadOnlyError if it may not be written, TopicNotFoundError, KafkaUnreachableError within the timeout.
        """
        return self._write(json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace"))

    def copy(self, message: ControlMessage) -> None:
        """Writes a message of another topic, with its timestamp; fails as ``write`` does."""
        self._write(message.value, max(0, message.timestamp))

    def _write(self, value: bytes | None, timestamp: int = _NOW) -> tuple[int, int]:
        with self._lock:
            try:
                first_s = self._timeout_s * FIRST_TRY if self._producer is not None else 0.0
                if first_s and (place := self._written(value, timestamp, first_s)):
                    return place
                if first_s:
                    log.warning("Kafka did not take a control message within %.1f s; writing it again", first_s)
                if place := self._written(value, timestamp, self._timeout_s - first_s):
                    return place
                raise self._error(KafkaError(KafkaError._MSG_TIMED_OUT))
            except EvertableError:
                self._producer = None  # after some errors an idempotent producer never writes again
                raise

    def close(self) -> None:
        """Lets go of all connections, and of what Kafka has not taken yet; a later ``write`` makes new ones."""
        producer = self._producer
        if producer is not None:
            producer.purge()
        with self._lock:
            self._producer = None

    def _written(self, value: bytes | None, timestamp: int, within_s: float) -> tuple[int, int] | None:
        """Where it stands; None if Kafka does not tell in time."""
        producer = self._producer = self._producer or self._connected()
        outcome: list[tuple[KafkaError | None, Message]] = []
        try:
            producer.produce(
                self._topic.name,
                value,
                partition=PARTITION,
                timestamp=timestamp,
                on_delivery=lambda *told: outcome.append(told),
            )
            producer.flush(within_s)
        except KafkaException as problem:
            raise self._error(problem.args[0]) from problem
        if not outcome:
            producer.purge()  # nothing may write it later
            self._producer = None
            return None
        error, message = outcome[0]
        if error is not None:
            raise self._error(error)
        return place(message)

    def _connected(self) -> Producer:
        properties = self._topic.kafka.for_librdkafka(Role.PRODUCER)
        self._trouble = ConnectionErrors(properties)
        return Producer(
            {
                **properties,
                "error_cb": self._trouble.note,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "message.timeout.ms": round(self._timeout_s * 1000),
                "topic.metadata.propagation.max.ms": round(self._timeout_s * 500),
            },
            logger=QUIET,
        )

    def _error(self, error: KafkaError) -> EvertableError:
        if ErrorKind.of(error) is ErrorKind.UNAUTHORIZED:
            return ControlReadOnlyError(
                f"Nobody may write to the control topic '{self._topic.name}' from here: {error.str()}.",
                "Send the message with a producer that may, or let this user write there.",
            )
        if error.code() in _NOT_TAKEN and not self._trouble.message:
            return KafkaUnreachableError(
                f"Kafka at {self._topic.servers} did not take the control message within {self._timeout_s:g} s.",
                "It may have it all the same: look at control_raw before you send it again.",
            )
        return self._trouble.explain(error, self._topic.name, "Write")
