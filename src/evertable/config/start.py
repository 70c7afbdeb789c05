"""Where reading a source begins: at its earliest record, at its end, or at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXAMPLE = "a time with its zone, such as 2026-01-31T09:00:00Z"


@dataclass(frozen=True)
class Start:
    """``Start.EARLIEST``, ``Start.LATEST``, or the first record at or after ``at`` (in UTC)."""

    word: str
    at: datetime | None = None

    EARLIEST: ClassVar[Start]
    LATEST: ClassVar[Start]

    @classmethod
    def parse(cls, text: str) -> Start:
        """Parses ``earliest``, ``latest`` or an ISO-8601 time with its zone; ValueError."""
        word = text.strip()
        if word.lower() in ("earliest", "latest"):
            return cls(word.lower())
        try:
            at = datetime.fromisoformat(word)
        except ValueError:
            raise ValueError(f"'{text}' is not a start; known are earliest, latest or {_EXAMPLE}") from None
        if at.tzinfo is None:
            raise ValueError(f"'{text}' has no time zone; write {_EXAMPLE}")
        try:
            at = at.astimezone(UTC)
        except OverflowError:
            raise ValueError(f"'{text}' is out of range") from None
        if at < _EPOCH:
            raise ValueError(f"'{text}' is before 1970; to read everything, write earliest")
        return cls("time", at)

    @property
    def timestamp_ms(self) -> int | None:
        """The time in milliseconds, as Kafka counts; rounded up, as no record before ``at`` may be read."""
        return None if self.at is None else -((_EPOCH - self.at) // timedelta(milliseconds=1))

    def __str__(self) -> str:
        return self.word if self.at is None else self.at.isoformat().replace("+00:00", "Z")


Start.EARLIEST = Start("earliest")
Start.LATEST = Start("latest")
