"""What generations count, those that have ended included, so that counters only grow."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from evertable.server.metrics import Metrics

if TYPE_CHECKING:
    from evertable.generations.running import Running


class Counts:
    """Changes folded and records rejected, by all generations; and how swaps went."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._lock = threading.Lock()
        self._running: set[Running] = set()
        self._folded = 0
        self._rejects: Counter[str] = Counter()
        metrics.read("evertable_changes_folded_total", lambda: self.folded)
        metrics.read("evertable_rejects_total", lambda: {(name,): count for name, count in self.rejects.items()})

    def began(self, running: Running) -> None:
        with self._lock:
            self._running.add(running)

    def retired(self, running: Running) -> None:
        """What it counted counts on."""
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

    def swapped(self, result: str, seconds: float) -> None:
        self._metrics.swapped(result, seconds)

    @property
    def folded(self) -> int:
        with self._lock:
            return self._folded + sum(map(_folded, self._running))

    @property
    def rejects(self) -> Counter[str]:
        with self._lock:
            return sum(map(_rejects, self._running), Counter(self._rejects))


def _folded(running: Running) -> int:
    return 0 if running.feed is None else running.feed.folded


def _rejects(running: Running) -> Counter[str]:
    return Counter() if running.tables is None else Counter(running.tables.rejects_by_source)
