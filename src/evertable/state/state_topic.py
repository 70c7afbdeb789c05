"""The state topic: the orchestrator's memory, kept in Kafka, and the lock that only one of them holds.

docs/STATE.md says what is written, and why one orchestrator at most can write.
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
from types import TracebackType
from typing import NoReturn, Self

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from evertable.config import Config, KafkaProperties
from evertable.config.names import STATE
from evertable.errors import AppRunningError, EvertableError, FencedError, KafkaUnreachableError, StateFormatError
from evertable.kafka.errors import ErrorKind
from evertable.shutdown import Shutdown
from evertable.state.ownership import LEASE_S, LEAVING_S, Ownership, Sign
from evertable.state.reading import fold, running_owner
from evertable.state.records import LastOwner, Owner, Record, encode
from evertable.state.state import AppState, StateFold
from evertable.state.state_log import StateLog, StateReader

HEARTBEAT_S = 1.0
"""How often the owner should say that it is there."""

_FAREWELL_S = 3.0
_ATTEMPT_S = 5.0
_AGAIN_S = 0.1
log = structlog.get_logger()


class StateTopic:
    """What the orchestrator of one app remembers; may be used by several threads.

    ``open`` makes this one the app's owner. Then ``heartbeat`` must be called every second, and raises
    FencedError, as ``write`` does, once another one has taken over: stop all queries then, and ``close`` last, for that
    is what the other one waits for. A broker's outage raises KafkaUnreachableError; it is in doubt then whether the
    records were written, and writing them again is right.
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
        self._ownership = Ownership(self.owner.id)
        self._producer: Producer | None = None
        self._fenced: FencedError | None = None
        self._claimed = False

    @classmethod
    def of(cls, config: Config, shutdown: Shutdown, address: str = "") -> Self:
        """That of the configured app, whose server listens at ``address``."""
        kafka, changelog = config.changelog_kafka, config.changelog
        return cls(kafka, changelog.prefix, config.app, changelog.replication, shutdown=shutdown, address=address)

    @property
    def topic(self) -> str:
        return self._log.topic

    @property
    def state(self) -> AppState:
        """What is remembered now."""
        with self._lock:
            return self._memory.state()

    def open(self, wait_s: float = LEASE_S, *, take_over: bool = False) -> AppState:
        """Makes this one the app's owner and returns what is remembered.

        AppRunningError if an owner shows a sign of life within ``wait_s``, unless this one is to ``take_over``. Returns
        when no earlier orchestrator can still be running: each has left, or was not heard of for ``wait_s`` (one that
        has begun to stop: LEAVING_S). FencedError if a later one came meanwhile, StateFormatError if there is a record
        that this version cannot read, and then nobody is disturbed. May be tried again.
        """
        with self._lock:
            self.owner = replace(self.owner, claimed=None, leaving=False)
            self._memory, self._ownership, self._fenced = StateFold(), Ownership(self.owner.id), None
            self._log.make()
            with closing(self._log.reader()) as reader:
                fold(reader.to_the_end(), self._ownership, self._memory)
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
        """Remembers all of these or none; what is too old to be kept is forgotten with them."""
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
        """Forgets the records of all these keys or of none."""
        with self._lock:
            if known := [key for key in keys if key in self._memory]:
                self._commit(dict.fromkeys(known), self._timeout_s)
                self._memory.forget(known)

    def heartbeat(self) -> None:
        """Says that this one is still there, and learns whether it still owns the app."""
        with self._lock:
            self._commit({self.owner.key: encode(self.owner)}, _ATTEMPT_S)

    def leaving(self) -> None:
        """Says that this one has begun to stop, so that a successor waits for its end."""
        with self._lock:
            self.owner = replace(self.owner, leaving=True)
            self._say(encode(self.owner))

    def close(self) -> None:
        """Says that this one has left; to be called when none of its queries runs. Closing twice does no harm."""
        with self._lock:
            self._producer = None
            if self._claimed:
                self._claimed = False
                self._say(None)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _refuse_if_running(self, reader: StateReader, wait_s: float) -> None:
        """Waits until every other owner has left, has begun to stop, or was silent for ``wait_s``."""
        if running := running_owner(reader, self._ownership, self._memory, wait_s, self._shutdown):
            raise AppRunningError(
                f"The app '{self.app}' is running already: {running}.",
                "To run another one beside it, give this one an `app:` of its own in its configuration. "
                "To replace it, start with --take-over; the other one stops then.",
            )

    def _take_over(self, reader: StateReader, wait_s: float) -> None:
        claim = self._claim(reader)
        # All before this was seen, so whoever claims behind it comes after us, and nobody else does.
        self.owner = replace(self.owner, claimed=reader.next - 1)
        self._wait_for_others(reader, claim.at_ms, wait_s)
        gone = [sign.owner for sign in self._ownership.others]
        for owner in gone:
            log.warning("owner_silent", owner=str(owner), waited_s=wait_s)
        taken = LastOwner(self.owner)
        values = {record.key: encode(record) for record in (self.owner, taken)}
        self._commit({**values, **{owner.key: None for owner in gone}}, self._timeout_s)
        self._memory.apply(taken)

    def _claim(self, reader: StateReader) -> Sign:
        """Claims the app, shuts the others out, and reads all that they had written; FencedError if one came later."""
        self.owner = replace(self.owner, claimed=self._log.append(self.owner.key, encode(self.owner)))
        try:
            self._shut_others_out(self._timeout_s)
        except KafkaException as problem:
            raise self._log.error(problem.args[0]) from problem
        fold(reader.to_the_end(), self._ownership, self._memory)
        self._stop_if_succeeded(self._ownership)
        if self._ownership.own is None:
            raise StateFormatError(
                f"The state topic '{self.topic}' has lost a record that was just written.",
                "Let nothing delete from it, then start again.",
            )
        return self._ownership.own

    def _wait_for_others(self, reader: StateReader, claimed_ms: int, wait_s: float) -> None:
        """Until none of them can be running; the broker's clock tells their age, ours only how long this takes."""
        began = said = time.monotonic()
        for sign in self._ownership.others:
            log.info("owner_awaited", owner=str(sign.owner))
        while True:
            self._stop_if_succeeded(self._ownership)
            now = time.monotonic()
            if not self._ownership.wait_ms(claimed_ms + int((now - began) * 1000), wait_s, LEAVING_S):
                return
            fold(reader.poll(_AGAIN_S), self._ownership, self._memory)
            if now - said >= HEARTBEAT_S:
                self._commit({self.owner.key: encode(self.owner)}, self._timeout_s)
                said = now

    def _commit(self, values: Mapping[str, bytes | None], timeout_s: float) -> None:
        """Writes all of these in one transaction; tries again until it is known to have been written."""
        if self._fenced:
            raise self._fenced
        deadline = time.monotonic() + timeout_s
        while True:
            attempt = time.monotonic() + self._left(deadline, _ATTEMPT_S)
            try:
                if self._producer is None:
                    self._regain(attempt)
                return self._transact(values, self._left(attempt))
            except KafkaException as problem:
                error: KafkaError = problem.args[0]
                self._producer = None  # the next one's beginning ends what this one left open
                if ErrorKind.of(error).is_access_denied or self._left(deadline) <= _AGAIN_S:
                    raise self._log.error(error) from problem
                log.debug("state_write_retried", error=error.str())
            except KafkaUnreachableError:
                self._producer = None
                if self._left(deadline) <= _AGAIN_S:
                    raise
            time.sleep(_AGAIN_S)

    def _left(self, deadline: float, most_s: float = _ATTEMPT_S) -> float:
        """How long a call may take, the app's own end regarded; never nothing, so that what is quick is done."""
        return max(_AGAIN_S, min(most_s, self._shutdown.left(deadline - time.monotonic())))

    def _transact(self, values: Mapping[str, bytes | None], timeout_s: float) -> None:
        assert self._producer is not None  # noqa: S101 - by the only caller
        self._producer.begin_transaction()
        for key, value in values.items():
            self._producer.produce(self.topic, value, key, partition=0)
        self._producer.commit_transaction(timeout_s)

    def _shut_others_out(self, timeout_s: float) -> None:
        """Makes a producer; none that was made before can write any more."""
        producer = self._log.writer(self._transactional_id)
        producer.init_transactions(timeout_s)
        self._producer = producer

    def _regain(self, deadline: float) -> None:
        """Becomes able to write again, unless another one has claimed the app.

        A transaction that an outage has cut off looks to Kafka like that of a stranger; who claimed last tells.
        """
        self._stop_if_succeeded(self._look(self._left(deadline)))
        self._shut_others_out(self._left(deadline))
        # One that claimed before it was shut out has seen nothing of us.
        self._stop_if_succeeded(self._look(self._left(deadline)))

    def _look(self, timeout_s: float) -> Ownership:
        """Who has claimed the app since we did."""
        assert self.owner.claimed is not None  # noqa: S101 - nothing is written before
        ownership = Ownership(self.owner.id)
        try:
            with closing(self._log.reader(self.owner.claimed, timeout_s)) as reader:
                fold(reader.to_the_end(), ownership)
        except StateFormatError as error:  # written after we claimed
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
            "Run one of them only, or give each an app of its own.",
        )
        self.leaving()
        raise self._fenced

    def _say(self, value: bytes | None) -> None:
        """Tells the others something about this one, whether it still owns the app or not; they can do without."""
        if not self._shutdown.left():
            log.warning("owner_unheard", error="There was no time left to say it.")
            return
        try:
            self._log.append(self.owner.key, value, _FAREWELL_S)
        except EvertableError as error:
            log.warning("owner_unheard", error=str(error))
