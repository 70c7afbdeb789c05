"""The writer of Evertable's own control messages; the control topic stays the only source of truth."""

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

FIRST_TRY = 0.3
"""The share of a write's time that is given to an existing connection."""
PARTITION = 0
"""All of Evertable's own messages go to this partition, so that they stay in order."""

log = logging.getLogger(__name__)

_NOW = 0  # librdkafka sets the timestamp
_UNACKNOWLEDGED = frozenset(
    {KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}
)


class Writer:
    """Writes messages to the control topic, one at a time, from any thread."""

    def __init__(self, topic: ControlTopic, *, timeout_s: float = TIMEOUT_S) -> None:
        self._topic = topic
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._connection_errors = ConnectionErrors({})

    def connect(self) -> None:
        """Starts to connect, so that the first message need not wait half a second for librdkafka."""
        with self._lock:
            self._producer = self._producer or self._connected()

    def write(self, message: Mapping[str, object]) -> tuple[int, int]:
        """Writes ``message`` and returns its partition and offset, once all replicas have it.

        An idle connection may have been dropped silently. A message that is not acknowledged soon is therefore written
        again over a new connection. It may then be in the topic twice, which is harmless: it names a complete wiring.

        Raises ControlReadOnlyError, TopicNotFoundError, or KafkaUnreachableError within the timeout.
        """
        return self._write(json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace"))

    def copy(self, message: ControlMessage) -> None:
        """Writes a message of another topic, with its timestamp; raises as ``write`` does."""
        self._write(message.value, max(0, message.timestamp))

    def _write(self, value: bytes | None, timestamp: int = _NOW) -> tuple[int, int]:
        with self._lock:
            try:
                first_s = self._timeout_s * FIRST_TRY if self._producer is not None else 0.0
                if first_s and (place := self._produce(value, timestamp, first_s)):
                    return place
                if first_s:
                    log.warning("Kafka did not acknowledge a control message within %.1f s; writing it again", first_s)
                if place := self._produce(value, timestamp, self._timeout_s - first_s):
                    return place
                raise self._error(KafkaError(KafkaError._MSG_TIMED_OUT))
            except EvertableError:
                self._producer = None  # after some errors an idempotent producer never writes again
                raise

    def close(self) -> None:
        """Closes the connection and drops unacknowledged messages; a later ``write`` connects again."""
        producer = self._producer
        if producer is not None:
            producer.purge()
        with self._lock:
            self._producer = None

    def _produce(self, value: bytes | None, timestamp: int, within_s: float) -> tuple[int, int] | None:
        """Returns the partition and offset; None if Kafka does not acknowledge in time."""
        producer = self._producer = self._producer or self._connected()
        outcome: list[tuple[KafkaError | None, Message]] = []
        try:
            producer.produce(
                self._topic.name,
                value,
                partition=PARTITION,
                timestamp=timestamp,
                on_delivery=lambda *report: outcome.append(report),
            )
            producer.flush(within_s)
        except KafkaException as problem:
            raise self._error(problem.args[0]) from problem
        if not outcome:
            producer.purge()  # it must not be written later
            self._producer = None
            return None
        error, message = outcome[0]
        if error is not None:
            raise self._error(error)
        return place(message)

    def _connected(self) -> Producer:
        properties = self._topic.kafka.for_librdkafka()
        self._connection_errors = ConnectionErrors(properties)
        return Producer(
            {
                **properties,
                "error_cb": self._connection_errors.note,
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
                f"Evertable's user may not write to the control topic '{self._topic.name}': {error.str()}.",
                "Send the message with a producer that may, or allow this user to write there.",
            )
        if error.code() in _UNACKNOWLEDGED and not self._connection_errors.message:
            return KafkaUnreachableError(
                f"Kafka at {self._topic.servers} did not acknowledge the control message within {self._timeout_s:g} s.",
                "It may still have been written: check control_raw before you send it again.",
            )
        return self._connection_errors.explain(error, self._topic.name, "Write")
