"""Limits repeated warnings: one when a problem begins, one a minute while it lasts, one line when it is over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

EVERY_S = 60.0

log = logging.getLogger(__name__)


class WarningThrottle:
    """Decides when to warn: when a problem begins, and after each minute that it lasts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._warned: dict[str, float] = {}

    def due(self, what: str = "") -> bool:
        """Returns whether to warn about this problem now; another problem is always due."""
        now = self._clock()
        if what in self._warned and now < self._warned[what] + EVERY_S:
            return False
        self._warned[what] = now
        return True

    def over(self) -> bool:
        """Ends all problems; returns whether there was a warning about one."""
        warned, self._warned = self._warned, {}
        return bool(warned)


class OutageLog:
    """Logs the outage of a cluster once, however many clients of this process notice it; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._throttles: dict[str, WarningThrottle] = {}

    def noticed(self, servers: str, what: str) -> None:
        """Logs that a client cannot reach these servers, unless that was logged within a minute."""
        with self._lock:
            is_due = self._throttles.setdefault(servers, WarningThrottle(self._clock)).due()
        if is_due:
            log.warning("Kafka at %s: %s; trying again until it answers", servers, what)

    def over(self, servers: str) -> None:
        """Logs that these servers answer again, if an outage was logged."""
        with self._lock:
            was_logged = self._throttles.pop(servers, None) is not None
        if was_logged:
            log.info("Kafka at %s answers again", servers)
