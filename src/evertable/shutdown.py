"""Shutdown of an app: one deadline that all waits share."""

from __future__ import annotations

import threading
import time

WITHIN_S = 7.0
"""How long a stop may take, whatever does not answer; the server's own end comes behind it."""


class Shutdown:
    """Begun once, by whoever stops the app; from then on no wait takes longer than what is left."""

    def __init__(self, within_s: float = WITHIN_S) -> None:
        self._within_s = within_s
        self._deadline = float("inf")
        self._begun = threading.Event()

    def begin(self) -> None:
        """From any thread, or a signal's handler; the first time counts."""
        if not self._begun.is_set():
            self._deadline = time.monotonic() + self._within_s
            self._begun.set()

    @property
    def begun(self) -> bool:
        return self._begun.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Whether it has begun, at the latest after ``timeout_s``."""
        return self._begun.wait(timeout_s)

    def left(self, most_s: float = WITHIN_S) -> float:
        """How long something may be waited for: ``most_s``, or less once it has begun."""
        return max(0.0, min(most_s, self._deadline - time.monotonic()))
