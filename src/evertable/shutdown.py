"""The shutdown of an app: one deadline that all waits share."""

from __future__ import annotations

import threading
import time

WITHIN_S = 7.0
"""How long a stop may take when something does not answer; after it the server itself still has to close."""


class Shutdown:
    """The shutdown of one app; once it has begun, no wait may exceed the time that is left."""

    def __init__(self, within_s: float = WITHIN_S) -> None:
        self._within_s = within_s
        self._deadline = float("inf")
        self._begun = threading.Event()

    def begin(self) -> None:
        """Starts the deadline; may be called from any thread or signal handler, and only the first call counts."""
        if not self._begun.is_set():
            self._deadline = time.monotonic() + self._within_s
            self._begun.set()

    @property
    def begun(self) -> bool:
        return self._begun.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Waits up to ``timeout_s`` for the shutdown to begin, and returns whether it has."""
        return self._begun.wait(timeout_s)

    def left(self, most_s: float = WITHIN_S) -> float:
        """Returns how long a wait may take: ``most_s``, or less once the shutdown has begun."""
        return max(0.0, min(most_s, self._deadline - time.monotonic()))
