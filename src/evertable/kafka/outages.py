"""What the log says of trouble that lasts: a line when it begins, one a minute while it lasts, one when it is over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

EVERY_S = 60.0

log = logging.getLogger(__name__)


class WarningThrottle:
    """Tells when to speak of trouble: at its beginning, when it is another one, and after each minute that it lasts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, float] = {}

    def due(self, what: str = "") -> bool:
        """There is this trouble: whether to say so now."""
        moment = self._clock()
        if what in self._said and moment < self._said[what] + EVERY_S:
            return False
        self._said[what] = moment
        return True

    def over(self) -> bool:
        """There is none any more: whether to say so, for it was said that there is."""
        said, self._said = self._said, {}
        return bool(said)


class OutageLog:
    """The outages of clusters, however many clients of this process notice them; any thread may tell."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._reminders: dict[str, WarningThrottle] = {}

    def noticed(self, servers: str, what: str) -> None:
        """A client cannot talk to these servers."""
        with self._lock:
            due = self._reminders.setdefault(servers, WarningThrottle(self._clock)).due()
        if due:
            log.warning("Kafka at %s: %s; trying again until it answers", servers, what)

    def over(self, servers: str) -> None:
        """A client that could not can again."""
        with self._lock:
            reminder = self._reminders.pop(servers, None)
        if reminder is not None:
            log.info("Kafka at %s answers again", servers)
