"""The state topic as a log: created with its settings, read to its end, appended to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

from evertable.config import KafkaProperties
from evertable.config.names import STATE
from evertable.errors import (
    EvertableError,
    KafkaUnreachableError,
    StateFormatError,
    TopicNotFoundError,
)
from evertable.kafka import topics
from evertable.kafka.admin import Admin
from evertable.kafka.consumer import GrouplessConsumer, place
from evertable.kafka.errors import QUIET, ConnectionErrors, is_transient
from evertable.shutdown import Shutdown
from evertable.state.records import StoredRecord

SETTINGS = {
    "cleanup.policy": "compact",
    "message.timestamp.type": "LogAppendTime",  # one clock, the broker's, measures how long an owner has been silent
    # Owners send a heartbeat every second; small segments that are compacted soon keep the topic short.
    "segment.bytes": str(1 << 20),
    "segment.ms": str(10 * 60 * 1000),
    "min.cleanable.dirty.ratio": "0.1",
    "delete.retention.ms": str(60 * 60 * 1000),  # longer than reading the whole topic takes
}
_READING = {
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 5,
    "reconnect.backoff.max.ms": 1_000,
}
_WRITING = {"acks": "all", "linger.ms": 0, "reconnect.backoff.max.ms": 1_000}
TRANSACTION_MS = 10_000
"""After this time the broker aborts a transaction that was not ended."""
_LEAST_S = 0.5
_BATCH = 10_000
_ASK_S = 5.0
"""The timeout of requests that a reachable broker answers at once."""


class StateLog:
    """One app's state topic; clients are created on demand."""

    def __init__(
        self, kafka: KafkaProperties, topic: str, replication: int, timeout_s: float, shutdown: Shutdown | None = None
    ) -> None:
        self.topic = topic
        self.shutdown = shutdown or Shutdown()
        self._kafka = kafka
        self._connection_errors = ConnectionErrors(kafka.for_librdkafka())
        self._replication = replication
        self._timeout_s = timeout_s

    def reader(self, offset: int = OFFSET_BEGINNING, timeout_s: float | None = None) -> StateReader:
        """Returns a reader from ``offset`` on; each of its reads takes ``timeout_s`` at most."""
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        return StateReader(self._kafka.for_librdkafka(), self.topic, offset, timeout_s, self.shutdown)

    def create_if_missing(self) -> None:
        """Creates the topic if it is missing, and waits until it can be used."""
        admin = Admin(self._kafka.for_librdkafka())
        try:
            found = topics.find(admin, self.topic, timeout_s=self._left(min(_ASK_S, self._timeout_s)))
        except TopicNotFoundError:
            timeout_s = self._left(self._timeout_s)
            found = topics.create_unless_there(admin, self.topic, self._replication, SETTINGS, timeout_s)
        if found.partitions != (0,):
            raise StateFormatError(
                f"The state topic '{self.topic}' has {len(found.partitions)} partitions instead of one.",
                "Delete it if nothing in it is needed, or give another app or changelog.prefix.",
            )

    def writer(self, transactional_id: str) -> Producer:
        """Returns a transactional producer; ``init_transactions`` fences earlier ones with the same id."""
        return Producer(
            {
                **self._kafka.for_librdkafka(),
                **_WRITING,
                **dict.fromkeys(("message.timeout.ms", "socket.timeout.ms"), TRANSACTION_MS),  # librdkafka requires it
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_MS,
                "error_cb": self._connection_errors.note,
            },
            logger=QUIET,
        )

    def append(self, key: str, value: bytes | None, timeout_s: float | None = None) -> int:
        """Appends one record outside of a transaction, without owning the app, and returns its offset."""
        timeout_s = self._left(self._timeout_s if timeout_s is None else timeout_s)
        producer = Producer(
            {
                **self._kafka.for_librdkafka(),
                **_WRITING,
                "enable.idempotence": False,  # it would take half a second; a repeated record does no harm
                "message.timeout.ms": int(timeout_s * 1000),
                "error_cb": self._connection_errors.note,
            },
            logger=QUIET,
        )
        reports: list[tuple[KafkaError | None, Message]] = []
        producer.produce(self.topic, value, key, partition=0, on_delivery=lambda *report: reports.append(report))
        producer.flush(timeout_s + 1)
        if not reports:
            raise self.error(KafkaError(KafkaError._TIMED_OUT))
        error, message = reports[0]
        if error is not None:
            raise self.error(error)
        self._connection_errors.clear()
        return place(message)[1]

    def error(self, error: KafkaError) -> EvertableError:
        """Explains to the operator why a write failed."""
        is_about_lock = error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return self._connection_errors.explain(
            error, self.topic.removesuffix(f".{STATE}") if is_about_lock else self.topic, "Write"
        )

    def _left(self, most_s: float) -> float:
        """Returns how long a call may take during a shutdown; never zero, so that quick calls are still made."""
        return max(_LEAST_S, self.shutdown.left(most_s))


class StateReader:
    """Reads the state topic's committed records in order."""

    def __init__(
        self, properties: dict[str, Any], topic: str, offset: int, timeout_s: float, shutdown: Shutdown
    ) -> None:
        self._topic = topic
        self._shutdown = shutdown
        self._timeout_s = timeout_s
        self.next = 0
        """The offset to read next."""
        self._consumer = GrouplessConsumer(properties, _READING)
        self._consumer.kafka.assign([TopicPartition(topic, 0, offset)])

    def to_the_end(self) -> Iterator[StoredRecord]:
        """Reads all records up to the present end."""
        deadline = time.monotonic() + self._timeout_s
        end = self._end()
        while self.next < end:
            if self._shutdown.left(deadline - time.monotonic()) <= 0:
                raise KafkaUnreachableError(
                    f"Kafka at {self._consumer.servers} did not deliver all of '{self._topic}' "
                    f"within {self._timeout_s:g} s.",
                    "Check the broker.",
                )
            yield from self.poll(0.1)
        self._consumer.recovered()

    def poll(self, timeout_s: float) -> Iterator[StoredRecord]:
        """Reads the records that arrive within ``timeout_s``."""
        for message in self._consumer.poll_batch(timeout_s, _BATCH):
            error = message.error()
            if error is None:
                self.next = place(message)[1] + 1
                yield _stored(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                self.next = place(message)[1]  # after the marker that ended the last record's transaction
            elif not is_transient(error):
                raise self._consumer.error(error, self._topic)

    def close(self) -> None:
        self._consumer.close()

    def _end(self) -> int:
        """Returns the offset after the last record that is not part of an open transaction."""
        return self._consumer.bounds(self._topic, 0, max(_LEAST_S, self._shutdown.left(self._timeout_s)))[1]


def _stored(message: Message) -> StoredRecord:
    kind, at_ms = message.timestamp()
    if kind != TIMESTAMP_LOG_APPEND_TIME:  # we did not create the topic: take the record as new
        at_ms = int(time.time() * 1000)
    return StoredRecord((message.key() or b"").decode(errors="replace"), message.value(), place(message)[1], at_ms)
