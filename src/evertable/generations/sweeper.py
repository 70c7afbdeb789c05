"""Deletes what ended generations have left in Kafka and on disk, as soon as that is safe."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from evertable.errors import EvertableError
from evertable.kafka.outages import WarningThrottle

RETRY_S = 2.0


class Sweeper:
    """Deletes changelogs and checkpoints of generations whose queries have ended, in turn, on a thread of its own.

    A changelog must not be deleted before its producer is closed, which takes a second or two, on a cluster 45; the
    next generation is built meanwhile. ``wait_released`` returns when the producer is closed. ``delete`` does the work
    and is retried while Kafka is unreachable, which ``report`` logs for operators.
    """

    def __init__(
        self, wait_released: Callable[[int], bool], delete: Callable[[int], None], report: Callable[[str, str], None]
    ) -> None:
        self._wait_released = wait_released
        self._delete = delete
        self._report = report
        self._ended: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._has_stopped = False
        self._thread = threading.Thread(target=self._run, name="evertable-sweeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def take(self, generation: int) -> None:
        """Queues a generation whose query has ended, and which is no longer needed; returns at once."""
        self._ended.put(generation)

    def drop(self) -> None:
        """Stops deleting, because another orchestrator owns the rest now."""
        self._has_stopped = True

    def close(self, timeout_s: float = 2.0) -> None:
        """Makes one attempt to delete what is left, if there is time. The engine should have ended before."""
        self._closing.set()
        self._ended.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)  # the next start deletes what is left

    def _run(self) -> None:
        while (generation := self._ended.get()) is not None:
            self._wait_released(generation)
            self._sweep(generation)

    def _sweep(self, generation: int) -> None:
        warnings = WarningThrottle()
        while not self._has_stopped:
            try:
                self._delete(generation)
            except EvertableError as error:
                if warnings.due():
                    self._report("WARN", f"Cannot delete the rest of generation {generation} yet: {error}")
            else:
                if warnings.over():
                    self._report("INFO", f"Deleted the rest of generation {generation}")
                return
            if self._closing.wait(RETRY_S):
                return
