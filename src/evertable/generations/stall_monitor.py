"""What is done about a generation that has records to read and reads none: a warning, a new connection, a new query."""

from __future__ import annotations

import time
from collections.abc import Callable

from evertable.background import run_in_background
from evertable.generations.running import RunningGeneration
from evertable.generations.source_events import SourceRecovered, SourceStalled, TopicBack, TopicGone
from evertable.kafka.outages import WarningThrottle

RESTART_S = 30.0
"""After so long a query that stands still is started again; it gets twice as long to read something."""

STILL, GONE = "still", "gone"


class StallMonitor:
    """Notes at each running generation what is wrong with its topics, and restarts the query where that may help."""

    def __init__(self, report: Callable[[str, str], None], restart: Callable[[int], None]) -> None:
        self._report = report
        self._restart = restart
        self._said: dict[tuple[int, str], WarningThrottle] = {}
        self._restarted: dict[int, float] = {}

    def report(
        self, report: SourceStalled | SourceRecovered | TopicGone | TopicBack, running: RunningGeneration | None
    ) -> None:
        if running is None:
            return
        match report:
            case SourceStalled(source=source):
                running.troubles[source, STILL] = str(report)
                if self._said.setdefault((running.number, source), WarningThrottle()).due():
                    self._report("WARN", str(report))
                    if running.feed is not None:
                        running.feed.reconnect()
                self._restart_if_due(running, report.seconds)
            case SourceRecovered(source=source):
                running.troubles.pop((source, STILL), None)
                self._said.pop((running.number, source), None)
                self._report("INFO", str(report))
            case TopicGone(source=source):
                running.troubles[source, GONE] = str(report)
                self._report("WARN", str(report))
            case TopicBack(source=source):
                running.troubles.pop((source, GONE), None)
                self._report("INFO", str(report))

    def _restart_if_due(self, running: RunningGeneration, seconds: float) -> None:
        now = time.monotonic()
        is_shown = bool(running.published)  # others have a deadline of their own
        if (
            not is_shown
            or running.stale
            or seconds < RESTART_S
            or now < self._restarted.get(running.number, 0.0) + 2 * RESTART_S
        ):
            return
        self._restarted[running.number] = now
        self._report("WARN", f"The query of generation {running.number} is started again: it reads nothing")
        running.failed("its query stood still and is started again")
        run_in_background(lambda: self._restart(running.number), "evertable-restart")
