"""How long a generation that is resumed may make no progress, before it is built anew; without any I/O."""

from __future__ import annotations

from collections.abc import Hashable


class ResumeDeadline:
    """Counts the time since the last progress; while Kafka is away, it does not count."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._progress: Hashable = None
        self._since: float | None = None

    def is_over(self, now: float, progress: Hashable, *, kafka_is_away: bool) -> bool:
        """``progress`` is whatever changes when there is some."""
        if self._since is None or progress != self._progress or kafka_is_away:
            self._progress, self._since = progress, now
        return now - self._since >= self.timeout_s
