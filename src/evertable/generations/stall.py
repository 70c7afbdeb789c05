"""Detects sources that have records to read while none is read, and reacts to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping

from evertable.background import run_in_background
from evertable.generations.running import RunningGeneration
from evertable.generations.source_events import EventKind, SourceEvent
from evertable.kafka.outages import WarningThrottle

RESTART_S = 30.0
"""After so long a query that reads nothing is restarted; it then has twice as long to read something."""
PATIENCE_S = 10.0
"""How long records may wait, because Spark starts, commits, or discovers new partitions."""


class StallDetector:
    """Finds the partitions of one source that have records to read while none is read. It does no I/O."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._moved: dict[int, tuple[int, float]] = {}
        """For each partition, its position and when it got there."""
        self._waiting: dict[int, float] = {}
        """The partitions with records to read, and since when."""
        self._suspected: float | None = None

    def suspect(self, now: float) -> None:
        """Notes that Kafka does not answer: from now on, records may be waiting unseen."""
        self._suspected = now if self._suspected is None else self._suspected

    def observe(self, now: float, positions: Mapping[int, int], waiting: Collection[int]) -> None:
        """Notes the positions, and which partitions have records behind them."""
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
        """Returns the stalled partitions, and for how long they have been stalled."""
        stalled = {
            partition: now - max(since, self._moved[partition][1])
            for partition, since in self._waiting.items()
            if partition in self._moved
        }
        return {partition: seconds for partition, seconds in stalled.items() if seconds >= self._patience_s}


class ResumeDeadline:
    """Limits the time in which a resumed generation makes no progress. While Kafka is unreachable, no time counts."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._progress: Hashable = None
        self._since: float | None = None

    def is_over(self, now: float, progress: Hashable, *, is_kafka_unreachable: bool) -> bool:
        """Returns whether the time is up; ``progress`` is any value that changes with progress."""
        if self._since is None or progress != self._progress or is_kafka_unreachable:
            self._progress, self._since = progress, now
        return now - self._since >= self.timeout_s


class SourceMonitor:
    """Reports what happens to the topics of running generations, and restarts a query that reads nothing."""

    def __init__(self, report: Callable[[str, str], None], restart: Callable[[int], None]) -> None:
        self._report = report
        self._restart = restart

    def handle(self, event: SourceEvent, running: RunningGeneration) -> None:
        problems = running.source_problems
        match event.kind:
            case EventKind.STALLED:
                problems[event.source, EventKind.STALLED] = event.message
                if running.stall_warnings.setdefault(event.source, WarningThrottle()).due():
                    self._report("WARN", event.message)
                    if running.feed is not None:
                        running.feed.reconnect()
                self._restart_if_due(running, event.stalled_s)
                return
            case EventKind.RECOVERED:
                problems.pop((event.source, EventKind.STALLED), None)
                running.stall_warnings.pop(event.source, None)
            case EventKind.GONE:
                problems[event.source, EventKind.GONE] = event.message
            case EventKind.BACK:
                problems.pop((event.source, EventKind.GONE), None)
            case _:
                pass
        self._report("WARN" if event.kind in (EventKind.GONE, EventKind.TRUNCATED) else "INFO", event.message)

    def _restart_if_due(self, running: RunningGeneration, seconds: float) -> None:
        now = time.monotonic()
        is_shown = bool(running.published)  # others have a timeout already
        is_due = seconds >= RESTART_S and now >= running.restarted + 2 * RESTART_S
        if not is_shown or running.stale_reason or not is_due:
            return
        running.restarted = now
        self._report("WARN", f"The query of generation {running.number} is started again: it reads nothing")
        running.query_failed("its query read nothing and is restarted")
        run_in_background(lambda: self._restart(running.number), "evertable-restart")
