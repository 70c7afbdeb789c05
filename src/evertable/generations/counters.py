"""Counts what all generations have done, ended ones included, so that counters only grow."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evertable.generations.running import RunningGeneration


class GenerationCounters:
    """Counts changes folded and records rejected by all generations.

    ``on_swap`` is called with the result and the duration of each swap.
    """

    def __init__(self, on_swap: Callable[[str, float], None]) -> None:
        self.swapped = on_swap
        self._lock = threading.Lock()
        self._running: set[RunningGeneration] = set()
        self._folded = 0
        self._rejects: Counter[str] = Counter()

    def began(self, running: RunningGeneration) -> None:
        with self._lock:
            self._running.add(running)

    def retired(self, running: RunningGeneration) -> None:
        """Keeps the counts of a generation that has ended."""
        with self._lock:
            if running in self._running:
                self._running.discard(running)
                self._folded += _folded(running)
                self._rejects.update(_rejects(running))

    @property
    def tables_bytes(self) -> int:
        """About how much memory the tables of all generations take."""
        with self._lock:
            tables = [running.tables for running in self._running if running.tables is not None]
        return sum(each.nbytes for each in tables)

    @property
    def folded(self) -> int:
        with self._lock:
            return self._folded + sum(map(_folded, self._running))

    @property
    def rejects(self) -> Counter[str]:
        with self._lock:
            return sum(map(_rejects, self._running), Counter(self._rejects))


def _folded(running: RunningGeneration) -> int:
    return 0 if running.feed is None else running.feed.folded


def _rejects(running: RunningGeneration) -> Counter[str]:
    return Counter() if running.tables is None else Counter(running.tables.rejects_by_source)
