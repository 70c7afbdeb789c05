"""Detects sources that have records to read while none is read, and reacts to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping

from evertable.background import run_in_background
from evertable.generations.running import RunningGeneration
from evertable.generations.source_events import SourceRecovered, SourceStalled, TopicBack, TopicGone
from evertable.kafka.outages import WarningThrottle

RESTART_S = 30.0
"""After so long a query that reads nothing is restarted; it then has twice as long to read something."""
PATIENCE_S = 10.0
"""How long records may wait, because Spark starts, commits, or discovers new partitions."""


STALLED, GONE = "stalled", "gone"


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


class StallMonitor:
    """Records what is wrong with the topics of running generations, and restarts a query that reads nothing."""

    def __init__(self, report: Callable[[str, str], None], restart: Callable[[int], None]) -> None:
        self._report = report
        self._restart = restart
        self._warnings: dict[tuple[int, str], WarningThrottle] = {}
        self._restarted: dict[int, float] = {}

    def handle(
        self, event: SourceStalled | SourceRecovered | TopicGone | TopicBack, running: RunningGeneration | None
    ) -> None:
        if running is None:
            return
        match event:
            case SourceStalled(source=source):
                running.source_problems[source, STALLED] = str(event)
                if self._warnings.setdefault((running.number, source), WarningThrottle()).due():
                    self._report("WARN", str(event))
                    if running.feed is not None:
                        running.feed.reconnect()
                self._restart_if_due(running, event.seconds)
            case SourceRecovered(source=source):
                running.source_problems.pop((source, STALLED), None)
                self._warnings.pop((running.number, source), None)
                self._report("INFO", str(event))
            case TopicGone(source=source):
                running.source_problems[source, GONE] = str(event)
                self._report("WARN", str(event))
            case TopicBack(source=source):
                running.source_problems.pop((source, GONE), None)
                self._report("INFO", str(event))

    def _restart_if_due(self, running: RunningGeneration, seconds: float) -> None:
        now = time.monotonic()
        is_shown = bool(running.published)  # others have a timeout already
        if (
            not is_shown
            or running.stale_reason
            or seconds < RESTART_S
            or now < self._restarted.get(running.number, 0.0) + 2 * RESTART_S
        ):
            return
        self._restarted[running.number] = now
        self._report("WARN", f"The query of generation {running.number} is started again: it reads nothing")
        running.query_failed("its query read nothing and is restarted")
        run_in_background(lambda: self._restart(running.number), "evertable-restart")
