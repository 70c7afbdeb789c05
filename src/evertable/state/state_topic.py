"""The state topic: the app's state, kept in Kafka, and the lock that only one orchestrator holds.

docs/STATE.md describes the records, and why at most one orchestrator can write.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import NoReturn, Self

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from evertable.config import Config, KafkaProperties
from evertable.config.names import STATE
from evertable.errors import AppRunningError, EvertableError, FencedError, KafkaUnreachableError, StateFormatError
from evertable.kafka.errors import ErrorKind
from evertable.shutdown import Shutdown
from evertable.state.ownership import LEASE_S, Heartbeat, Ownership
from evertable.state.records import LastOwner, Owner, Record, encode
from evertable.state.state import AppState, StateFold
from evertable.state.state_log import StateLog, StateReader

HEARTBEAT_S = 1.0
"""The interval of the owner's heartbeats."""

_ANNOUNCE_S = 3.0
_ATTEMPT_S = 5.0
_RETRY_S = 0.1
log = structlog.get_logger()


class StateTopic:
    """The state of one app and the claim to it; may be used by several threads.

    ``open`` makes this process the app's owner. After that, ``heartbeat`` must be called every second. It and ``write``
    raise FencedError once another owner has taken over: then stop all queries first, and ``close`` last, since the
    other owner waits for that. An outage raises KafkaUnreachableError. The records may then have been written or not,
    and should be written again.
    """

    def __init__(
        self,
        kafka: KafkaProperties,
        prefix: str,
        app: str,
        replication: int = 1,
        *,
        timeout_s: float = 30.0,
        shutdown: Shutdown | None = None,
        address: str = "",
    ) -> None:
        self.app = app
        self.owner = Owner(
            id=uuid.uuid4().hex,
            host=socket.gethostname(),
            pid=os.getpid(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            address=address,
        )
        self._transactional_id = f"{prefix}.{app}"
        self._log = StateLog(kafka, f"{prefix}.{app}.{STATE}", replication, timeout_s, shutdown)
        self._shutdown = self._log.shutdown
        self._timeout_s = timeout_s
        self._lock = threading.RLock()
        self._memory = StateFold()
        self._ownership = Ownership(self.owner.id, self._memory)
        self._producer: Producer | None = None
        self._fenced: FencedError | None = None
        self._claimed = False

    @classmethod
    def of(cls, config: Config, shutdown: Shutdown, address: str = "") -> Self:
        """Creates the state topic of the configured app, whose server listens at ``address``."""
        kafka, changelog = config.changelog_kafka, config.changelog
        return cls(kafka, changelog.prefix, config.app, changelog.replication, shutdown=shutdown, address=address)

    @property
    def topic(self) -> str:
        return self._log.topic

    @property
    def state(self) -> AppState:
        """The current state."""
        with self._lock:
            return self._memory.state()

    def open(self, wait_s: float = LEASE_S, *, take_over: bool = False) -> AppState:
        """Makes this process the app's owner and returns the state.

        Returns when no earlier owner can still be running: each has left, or sent no heartbeat for ``wait_s``
        (LEAVING_S if it has begun to stop). May be retried after an error:

        - AppRunningError if an owner sends a heartbeat within ``wait_s``, unless ``take_over`` is set;
        - FencedError if another owner has claimed the app later;
        - StateFormatError if this version cannot read a record; running owners are not disturbed.
        """
        with self._lock:
            self.owner = replace(self.owner, claimed=None, leaving=False)
            self._memory, self._fenced = StateFold(), None
            self._ownership = Ownership(self.owner.id, self._memory)
            self._log.create_if_missing()
            with closing(self._log.reader()) as reader:
                self._ownership.fold(reader.to_the_end())
                if not take_over:
                    self._refuse_if_running(reader, wait_s)
                self._claimed = True
                try:
                    self._take_over(reader, wait_s)
                except BaseException:
                    self.close()
                    raise
            return self._memory.state()

    def write(self, *records: Record) -> None:
        """Writes all of these records or none, and deletes those that are too old to be kept."""
        if not records:
            return
        with self._lock:
            values: dict[str, bytes | None] = {record.key: encode(record) for record in records}
            for key in self._memory.too_old(records):
                values.pop(key, None)
                if key in self._memory:
                    values[key] = None
            self._commit(values, self._timeout_s)
            for record in records:
                if values.get(record.key):
                    self._memory.apply(record)
            self._memory.forget(key for key, value in values.items() if value is None)

    def forget(self, *keys: str) -> None:
        """Deletes the records of all these keys or of none."""
        with self._lock:
            if known := [key for key in keys if key in self._memory]:
                self._commit(dict.fromkeys(known), self._timeout_s)
                self._memory.forget(known)

    def heartbeat(self) -> None:
        """Sends a heartbeat; raises FencedError if this process no longer owns the app."""
        with self._lock:
            self._commit({self.owner.key: encode(self.owner)}, _ATTEMPT_S)

    def announce_leaving(self) -> None:
        """Announces that this process has begun to stop, so that a successor waits for it."""
        with self._lock:
            self.owner = replace(self.owner, leaving=True)
            self._announce(encode(self.owner))

    def close(self) -> None:
        """Announces that this process has left; call it when none of its queries runs. May be called twice."""
        with self._lock:
            self._producer = None
            if self._claimed:
                self._claimed = False
                self._announce(None)

    def _refuse_if_running(self, reader: StateReader, wait_s: float) -> None:
        """Waits until every other owner has left, has begun to stop, or was silent for ``wait_s``."""
        if running := self._ownership.find_running(reader, wait_s, self._shutdown):
            raise AppRunningError(
                f"The app '{self.app}' is already running: {running}.",
                "To run both, set a different `app:` in this one's configuration. "
                "To replace the running one, start with --take-over; it then stops.",
            )

    def _take_over(self, reader: StateReader, wait_s: float) -> None:
        claim = self._claim(reader)
        # Every earlier record has been read, so only claims after this one succeed ours.
        self.owner = replace(self.owner, claimed=reader.next - 1)
        self._wait_for_others(reader, claim.at_ms, wait_s)
        gone = [each.owner for each in self._ownership.others]
        for owner in gone:
            log.warning(
                "An earlier owner of the app sends no heartbeat; taking over", owner=str(owner), waited_s=wait_s
            )
        taken = LastOwner(self.owner)
        values = {record.key: encode(record) for record in (self.owner, taken)}
        self._commit({**values, **{owner.key: None for owner in gone}}, self._timeout_s)
        self._memory.apply(taken)

    def _claim(self, reader: StateReader) -> Heartbeat:
        """Claims the app, fences the others, and reads what they wrote; FencedError if there is a later claim."""
        self.owner = replace(self.owner, claimed=self._log.append(self.owner.key, encode(self.owner)))
        try:
            self._fence_others(self._timeout_s)
        except KafkaException as problem:
            raise self._log.error(problem.args[0]) from problem
        self._ownership.fold(reader.to_the_end())
        self._stop_if_succeeded(self._ownership)
        if self._ownership.own is None:
            raise StateFormatError(
                f"The state topic '{self.topic}' has lost a record that was just written.",
                "Make sure that nothing deletes its records, then start again.",
            )
        return self._ownership.own

    def _wait_for_others(self, reader: StateReader, claimed_ms: int, wait_s: float) -> None:
        """Waits until none of them can be running, by the broker's clock; ours only measures the wait."""
        began = last_heartbeat = time.monotonic()
        for other in self._ownership.others:
            log.info("Waiting for an earlier owner of the app to stop", owner=str(other.owner))
        while True:
            self._stop_if_succeeded(self._ownership)
            now = time.monotonic()
            if not self._ownership.wait_ms(claimed_ms + int((now - began) * 1000), wait_s):
                return
            self._ownership.fold(reader.poll(_RETRY_S))
            if now - last_heartbeat >= HEARTBEAT_S:
                self._commit({self.owner.key: encode(self.owner)}, self._timeout_s)
                last_heartbeat = now

    def _commit(self, values: Mapping[str, bytes | None], timeout_s: float) -> None:
        """Writes all of these in one transaction, and retries until the commit is confirmed."""
        if self._fenced:
            raise self._fenced
        deadline = time.monotonic() + timeout_s
        while True:
            attempt = time.monotonic() + self._left(deadline, _ATTEMPT_S)
            try:
                if self._producer is None:
                    self._reconnect(attempt)
                return self._transact(values, self._left(attempt))
            except KafkaException as problem:
                error: KafkaError = problem.args[0]
                self._producer = None  # the next one's initialisation aborts what this one left open
                is_denied = ErrorKind.of(error) in (ErrorKind.UNAUTHENTICATED, ErrorKind.UNAUTHORIZED)
                if is_denied or self._left(deadline) <= _RETRY_S:
                    raise self._log.error(error) from problem
                log.debug("Could not write to the state topic; retrying", error=error.str())
            except KafkaUnreachableError:
                self._producer = None
                if self._left(deadline) <= _RETRY_S:
                    raise
            time.sleep(_RETRY_S)

    def _left(self, deadline: float, most_s: float = _ATTEMPT_S) -> float:
        """Returns how long a call may take during a shutdown; never zero, so that quick calls are still made."""
        return max(_RETRY_S, min(most_s, self._shutdown.left(deadline - time.monotonic())))

    def _transact(self, values: Mapping[str, bytes | None], timeout_s: float) -> None:
        assert self._producer is not None  # noqa: S101 - set by the only caller
        self._producer.begin_transaction()
        for key, value in values.items():
            self._producer.produce(self.topic, value, key, partition=0)
        self._producer.commit_transaction(timeout_s)

    def _fence_others(self, timeout_s: float) -> None:
        """Creates a producer; those created before can no longer write."""
        producer = self._log.writer(self._transactional_id)
        producer.init_transactions(timeout_s)
        self._producer = producer

    def _reconnect(self, deadline: float) -> None:
        """Creates a new producer, unless another owner has claimed the app.

        Kafka also fences a producer whose transaction an outage has cut off; only the claims show who owns the app.
        """
        self._stop_if_succeeded(self._read_claims(self._left(deadline)))
        self._fence_others(self._left(deadline))
        # Another owner may have claimed the app just before it was fenced.
        self._stop_if_succeeded(self._read_claims(self._left(deadline)))

    def _read_claims(self, timeout_s: float) -> Ownership:
        """Reads who has claimed the app since this process did."""
        assert self.owner.claimed is not None  # noqa: S101 - nothing is written before the claim
        ownership = Ownership(self.owner.id)
        try:
            with closing(self._log.reader(self.owner.claimed, timeout_s)) as reader:
                ownership.fold(reader.to_the_end())
        except StateFormatError as error:  # a record after our claim
            self._stop(f"one of another version. {error.what}")
        return ownership

    def _stop_if_succeeded(self, ownership: Ownership) -> None:
        successor = ownership.successor(self.owner.claimed or 0)
        if successor is not None:
            self._stop(f"{successor}.")

    def _stop(self, successor: str) -> NoReturn:
        self._producer = None
        self._fenced = FencedError(
            f"Another Evertable took over the app '{self.app}': {successor} This one (process {self.owner.pid} on "
            f"{self.owner.host}) stops.",
            "Run only one of them, or set a different `app:` for each.",
        )
        self.announce_leaving()
        raise self._fenced

    def _announce(self, value: bytes | None) -> None:
        """Writes this owner's record even if it no longer owns the app; a failure only makes its successor wait."""
        if not self._shutdown.left():
            log.warning(
                "Could not announce this stop in the state topic; a successor waits longer",
                error="There was no time left before the shutdown.",
            )
            return
        try:
            self._log.append(self.owner.key, value, _ANNOUNCE_S)
        except EvertableError as error:
            log.warning("Could not announce this stop in the state topic; a successor waits longer", error=str(error))
