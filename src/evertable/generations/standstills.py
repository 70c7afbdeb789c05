"""What is done about a generation that has records to read and reads none: a warning, a new connection, a new query."""

from __future__ import annotations

import time
from collections.abc import Callable

from evertable.changelog.outages import Reminder
from evertable.generations.ending import in_background
from evertable.generations.observed import ReadsOn, StandsStill, TopicBack, TopicGone
from evertable.generations.running import Running

RESTART_S = 30.0
"""After so long a query that stands still is started again; it gets twice as long to read something."""

STILL, GONE = "still", "gone"


class Standstills:
    """Notes at each running generation what is wrong with its topics, and restarts the query where that may help."""

    def __init__(self, say: Callable[[str, str], None], restart: Callable[[int], None]) -> None:
        self._say = say
        self._restart = restart
        self._said: dict[tuple[int, str], Reminder] = {}
        self._restarted: dict[int, float] = {}

    def report(self, report: StandsStill | ReadsOn | TopicGone | TopicBack, running: Running | None) -> None:
        if running is None:
            return
        match report:
            case StandsStill(source=source):
                running.troubles[source, STILL] = str(report)
                if self._said.setdefault((running.number, source), Reminder()).due():
                    self._say("WARN", str(report))
                    if running.feed is not None:
                        running.feed.reconnect()
                self._restart_if_due(running, report.seconds)
            case ReadsOn(source=source):
                running.troubles.pop((source, STILL), None)
                self._said.pop((running.number, source), None)
                self._say("INFO", str(report))
            case TopicGone(source=source):
                running.troubles[source, GONE] = str(report)
                self._say("WARN", str(report))
            case TopicBack(source=source):
                running.troubles.pop((source, GONE), None)
                self._say("INFO", str(report))

    def _restart_if_due(self, running: Running, seconds: float) -> None:
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
        self._say("WARN", f"The query of generation {running.number} is started again: it reads nothing")
        running.failed("its query stood still and is started again")
        in_background(lambda: self._restart(running.number), "evertable-restart")
