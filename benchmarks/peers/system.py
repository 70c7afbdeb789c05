"""What is compared: a system that joins two topics and shows the result to viewers elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

Pair = tuple[str, str]
"""The topics of users and of accounts."""


class NoAnswerError(Exception):
    """A system, or its viewer, has ended or says nothing any more."""


@dataclass(frozen=True)
class Rows:
    """How many there are on each side; each account belongs to one user, each user has some."""

    users: int
    accounts: int

    def joined(self, join: str) -> int:
        return self.users if join == "natural" else self.accounts


@dataclass(frozen=True)
class SwapSeen:
    """What viewers saw of a swap, in seconds from the order to swap."""

    open_viewer_s: float | None
    """Until one who just stayed saw the new topics; None if never."""
    any_viewer_s: float
    """Until one who did what it takes, such as opening the name again, saw the first of their rows."""
    complete_s: float
    """Until all rows of the new topics were there to be seen."""
    nothing_s: float
    """How long that viewer had no row, an error, or only some of the rows."""


class System(Protocol):
    name: str

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def pid(self) -> int:
        """The root of its processes."""

    def build(self, pair: Pair, join: str, rows: Rows) -> float:
        """Joins these topics under the public name, and says after how many seconds all of it was there."""

    def latencies(self, topic: str, join: str, messages: int, rate: float) -> list[float]:
        """Milliseconds from before a record of ``topic`` was sent until a remote viewer had it, for each record."""

    def swap(self, pair: Pair, called: str, rows: Rows) -> SwapSeen:
        """Points the name at these topics, whose users' names begin with ``called``, while viewers watch."""
