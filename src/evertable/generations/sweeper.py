"""The sweeper: deletes what ended generations have left in Kafka and on disk, as soon as that is safe."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from evertable.errors import EvertableError
from evertable.kafka.outages import WarningThrottle

RETRY_S = 2.0


class Sweeper:
    """Deletes changelogs and checkpoints of generations whose queries have ended, in turn, on a thread of its own.

    A changelog must not go before its producer is closed, which takes a second or two, on a cluster 45. Nobody waits
    for that: the next generation is built meanwhile. ``wait_released`` returns when it is closed, ``delete`` does the
    work and is tried again while Kafka is away; ``report`` tells operators if it is.
    """

    def __init__(
        self, wait_released: Callable[[int], bool], delete: Callable[[int], None], report: Callable[[str, str], None]
    ) -> None:
        self._wait_released = wait_released
        self._delete = delete
        self._report = report
        self._ended: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._dropped = False
        self._thread = threading.Thread(target=self._run, name="evertable-sweeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def take(self, generation: int) -> None:
        """The query of this one has ended, and nobody needs it any more; returns at once."""
        self._ended.put(generation)

    def drop(self) -> None:
        """Deletes nothing more: all of it is another orchestrator's now."""
        self._dropped = True

    def close(self, timeout_s: float = 2.0) -> None:
        """Deletes what is left, once and if that is possible in time. The engine should have ended before."""
        self._closing.set()
        self._ended.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)  # whatever is not deleted then, the next start deletes

    def _run(self) -> None:
        while (generation := self._ended.get()) is not None:
            self._wait_released(generation)
            self._sweep(generation)

    def _sweep(self, generation: int) -> None:
        warnings = WarningThrottle()
        while not self._dropped:
            try:
                self._delete(generation)
            except RuntimeError:  # the client was closed while it waited for Kafka
                if not self._closing.is_set():
                    raise
            except EvertableError as error:
                if warnings.due():
                    self._report("WARN", f"What is left of generation {generation} is not deleted yet: {error}")
            else:
                if warnings.over():
                    self._report("INFO", f"What was left of generation {generation} is deleted")
                return
            if self._closing.wait(RETRY_S):
                return
