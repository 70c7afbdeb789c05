"""Writes what must survive a restart to the state topic, and its owner's heartbeats, on a thread of its own."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from functools import partial

import structlog

from evertable.errors import EvertableError, FencedError
from evertable.kafka.outages import WarningThrottle
from evertable.shutdown import Shutdown
from evertable.state.records import Record
from evertable.state.state_topic import HEARTBEAT_S, StateTopic

RETRY_S = 0.5
FLUSH_S = 2.0
"""How long a shutdown waits until what is left is written."""

log = structlog.get_logger()


class StateWriter:
    """Writes records in the order in which they were queued, however long Kafka is unreachable.

    ``on_fenced`` is called on its thread if another owner took over. ``pause`` waits between attempts.
    """

    def __init__(
        self,
        store: StateTopic,
        on_fenced: Callable[[FencedError], None],
        shutdown: Shutdown,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._store = store
        self._shutdown = shutdown
        self._on_fenced = on_fenced
        self._clock = clock
        self._queue: queue.SimpleQueue[tuple[Record, ...] | threading.Event] = queue.SimpleQueue()
        self._next_heartbeat = clock()
        self._closing = threading.Event()
        self._pause = pause or self._closing.wait
        self._is_unreachable = False
        self._warnings = WarningThrottle(clock)
        self._thread = threading.Thread(target=self._run, name="evertable-state-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def write(self, *records: Record) -> None:
        """Queues records that are written together; returns at once."""
        self._queue.put(records)

    def flush(self, timeout_s: float) -> bool:
        """Returns whether all that was queued so far is written within that time."""
        written = threading.Event()
        self._queue.put(written)
        return written.wait(timeout_s)

    def close(self) -> None:
        """Writes what is left, if Kafka takes it in time, and ends the thread."""
        self._shutdown.begin()
        if self._thread.is_alive():
            if not self._is_unreachable:
                self.flush(self._shutdown.left(FLUSH_S))
            self._closing.set()
            self._queue.put(())
            self._thread.join(self._shutdown.left())

    def step(self) -> None:
        """Writes what was queued first, or a heartbeat if nothing is queued until it is due; may raise FencedError."""
        try:
            queued = self._queue.get(timeout=max(0.0, self._next_heartbeat - self._clock()))
        except queue.Empty:
            self._retry_until_written(self._store.heartbeat)
            self._next_heartbeat = self._clock() + HEARTBEAT_S
            return
        if isinstance(queued, threading.Event):
            queued.set()
        elif queued:
            self._retry_until_written(partial(self._store.write, *queued))

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self.step()
        except FencedError as error:
            self._on_fenced(error)

    def _retry_until_written(self, write: Callable[[], None]) -> None:
        """A record is correct however often it is written."""
        while not self._closing.is_set():
            try:
                write()
            except FencedError:
                raise
            except EvertableError as error:  # Kafka is unreachable, or the topic is missing: both may pass
                if self._warnings.due():
                    log.warning("Could not write to the state topic; retrying", error=str(error))
                self._is_unreachable = True
                self._pause(RETRY_S)
            else:
                self._is_unreachable = False
                if self._warnings.over():
                    log.info("The state topic can be written to again")
                return
