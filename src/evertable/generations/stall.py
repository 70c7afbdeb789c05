"""Whether a source is being read: it has records to read, and none of them is read. Without any I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping

PATIENCE_S = 10.0
"""So long may records wait: Spark starts, commits, or has new partitions to find."""


class StallDetector:
    """The partitions of one source: which of them wait to be read, and since when nothing was."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._moved: dict[int, tuple[int, float]] = {}
        """For each partition its position, and when it came to it."""
        self._waiting: dict[int, float] = {}
        """The partitions with something to read, and since when."""
        self._suspected: float | None = None

    def suspect(self, now: float) -> None:
        """Kafka does not answer: from now on, records may be waiting unseen."""
        self._suspected = now if self._suspected is None else self._suspected

    def observe(self, now: float, positions: Mapping[int, int], waiting: Collection[int]) -> None:
        """Kafka answers: these are the positions, and these partitions have something behind them."""
        for partition in {*positions, *waiting}:
            position = positions.get(partition, 0)
            if partition not in self._moved:
                self._moved[partition] = position, now if self._suspected is None else self._suspected
            elif self._moved[partition][0] != position:
                self._moved[partition] = position, now
        since = now if self._suspected is None else self._suspected
        self._waiting = {partition: self._waiting.get(partition, since) for partition in waiting}
        self._suspected = None

    def seconds(self, now: float) -> dict[int, float]:
        """The partitions that stand still, and for how long."""
        stood = {
            partition: now - max(since, self._moved[partition][1])
            for partition, since in self._waiting.items()
            if partition in self._moved
        }
        return {partition: seconds for partition, seconds in stood.items() if seconds >= self._patience_s}
