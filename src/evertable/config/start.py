"""Where reading a source begins: at its earliest record, at the end, or at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Start:
    """``Start.EARLIEST``, ``Start.LATEST``, or the first record at or after ``at`` (in UTC)."""

    word: str
    at: datetime | None = None

    EARLIEST: ClassVar[Start]
    LATEST: ClassVar[Start]

    @classmethod
    def parse(cls, text: str) -> Start:
        """The start that ``text`` means; ValueError says what would have been right."""
        spelled = text.strip()
        if spelled.lower() in ("earliest", "latest"):
            return cls(spelled.lower())
        try:
            at = datetime.fromisoformat(spelled)
        except ValueError:
            raise ValueError(f"'{text}' is no start; known are earliest, latest or {_EXAMPLE}") from None
        if at.tzinfo is None:
            raise ValueError(f"'{text}' names no time zone; write {_EXAMPLE}")
        try:
            at = at.astimezone(UTC)
        except OverflowError:
            raise ValueError(f"'{text}' is out of range") from None
        if at < _EPOCH:
            raise ValueError(f"'{text}' is before 1970; for everything there is, write earliest")
        return cls("time", at)

    @property
    def timestamp_ms(self) -> int | None:
        """The time in Kafka's unit, rounded up: a record of the millisecond before is before the start."""
        return None if self.at is None else -((_EPOCH - self.at) // _MILLISECOND)

    def __str__(self) -> str:
        return self.word if self.at is None else self.at.isoformat().replace("+00:00", "Z")


_EXAMPLE = "a time with its zone, such as 2026-01-31T09:00:00Z"
Start.EARLIEST = Start("earliest")
Start.LATEST = Start("latest")
