"""Whether a source is being read: it has records to read, and none of them is read. Without any I/O."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Mapping

from evertable.background import run_in_background
from evertable.generations.running import RunningGeneration
from evertable.generations.source_events import SourceRecovered, SourceStalled, TopicBack, TopicGone
from evertable.kafka.outages import WarningThrottle

RESTART_S = 30.0
"""After so long a query that stands still is started again; it gets twice as long to read something."""
PATIENCE_S = 10.0
"""So long may records wait: Spark starts, commits, or has new partitions to find."""


STILL, GONE = "still", "gone"


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


class ResumeDeadline:
    """Counts the time since the last progress; while Kafka is away, it does not count."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._progress: Hashable = None
        self._since: float | None = None

    def is_over(self, now: float, progress: Hashable, *, is_kafka_unreachable: bool) -> bool:
        """``progress`` is whatever changes when there is some."""
        if self._since is None or progress != self._progress or is_kafka_unreachable:
            self._progress, self._since = progress, now
        return now - self._since >= self.timeout_s


class StallMonitor:
    """Notes at each running generation what is wrong with its topics, and restarts the query where that may help."""

    def __init__(self, report: Callable[[str, str], None], restart: Callable[[int], None]) -> None:
        self._report = report
        self._restart = restart
        self._said: dict[tuple[int, str], WarningThrottle] = {}
        self._restarted: dict[int, float] = {}

    def handle(
        self, event: SourceStalled | SourceRecovered | TopicGone | TopicBack, running: RunningGeneration | None
    ) -> None:
        if running is None:
            return
        match event:
            case SourceStalled(source=source):
                running.source_problems[source, STILL] = str(event)
                if self._said.setdefault((running.number, source), WarningThrottle()).due():
                    self._report("WARN", str(event))
                    if running.feed is not None:
                        running.feed.reconnect()
                self._restart_if_due(running, event.seconds)
            case SourceRecovered(source=source):
                running.source_problems.pop((source, STILL), None)
                self._said.pop((running.number, source), None)
                self._report("INFO", str(event))
            case TopicGone(source=source):
                running.source_problems[source, GONE] = str(event)
                self._report("WARN", str(event))
            case TopicBack(source=source):
                running.source_problems.pop((source, GONE), None)
                self._report("INFO", str(event))

    def _restart_if_due(self, running: RunningGeneration, seconds: float) -> None:
        now = time.monotonic()
        is_shown = bool(running.published)  # others have a deadline of their own
        if (
            not is_shown
            or running.stale_reason
            or seconds < RESTART_S
            or now < self._restarted.get(running.number, 0.0) + 2 * RESTART_S
        ):
            return
        self._restarted[running.number] = now
        self._report("WARN", f"The query of generation {running.number} is started again: it reads nothing")
        running.query_failed("its query stood still and is started again")
        run_in_background(lambda: self._restart(running.number), "evertable-restart")
