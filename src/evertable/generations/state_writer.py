"""Writes what must outlive the orchestrator, and shows that it is alive, on a thread of its own."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Protocol

import structlog

from evertable.errors import EvertableError, FencedError
from evertable.kafka.outages import WarningThrottle
from evertable.shutdown import Shutdown
from evertable.state.records import Record

BEAT_S = 1.0
AGAIN_S = 0.5
LAST_S = 2.0
"""For what is left to be written at the end."""

log = structlog.get_logger()


class Memory(Protocol):
    """What outlives the orchestrator; a write counts wholly or not at all."""

    def write(self, *records: Record) -> None: ...

    def heartbeat(self) -> None: ...


class StateWriter:
    """Writes in the order it is told, however long Kafka is away. ``on_fenced`` is told if another one took over."""

    def __init__(self, memory: Memory, on_fenced: Callable[[FencedError], None], shutdown: Shutdown) -> None:
        self._memory = memory
        self._shutdown = shutdown
        self._on_fenced = on_fenced
        self._pages: queue.SimpleQueue[tuple[Record, ...] | threading.Event] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._away = False
        self._warnings = WarningThrottle()
        self._thread = threading.Thread(target=self._run, name="evertable-state-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def write(self, *records: Record) -> None:
        """Remembers all of these or none; returns at once."""
        self._pages.put(records)

    def flush(self, timeout_s: float) -> bool:
        """Whether all that was told so far is written, within that time."""
        written = threading.Event()
        self._pages.put(written)
        return written.wait(timeout_s)

    def close(self) -> None:
        """Writes what is left, if Kafka takes it in time, and ends the thread."""
        self._shutdown.begin()
        if self._thread.is_alive():
            if not self._away:
                self.flush(self._shutdown.left(LAST_S))
            self._closing.set()
            self._pages.put(())
            self._thread.join(self._shutdown.left())

    def _run(self) -> None:
        next_beat = time.monotonic()
        try:
            while not self._closing.is_set():
                try:
                    page = self._pages.get(timeout=max(0.0, next_beat - time.monotonic()))
                except queue.Empty:
                    self._insist(self._memory.heartbeat)
                    next_beat = time.monotonic() + BEAT_S
                    continue
                if isinstance(page, threading.Event):
                    page.set()
                elif page:
                    records = page
                    self._insist(lambda: self._memory.write(*records))  # noqa: B023 (called before the next)
        except FencedError as error:
            self._on_fenced(error)

    def _insist(self, write: Callable[[], None]) -> None:
        """Until it is written: a record is right however often it is written."""
        while not self._closing.is_set():
            try:
                write()
            except FencedError:
                raise
            except EvertableError as error:  # Kafka is away, or the topic is: it may come back
                if self._warnings.due():
                    log.warning("state_not_written", error=str(error))
                self._away = True
                self._closing.wait(AGAIN_S)
            else:
                self._away = False
                if self._warnings.over():
                    log.info("state_written_again")
                return
