"""The interface of compared systems, which join two topics and show the result to remote viewers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

Pair = tuple[str, str]
"""The topics of users and of accounts."""


class NoAnswerError(Exception):
    """A system or its viewer has ended or does not respond."""


@dataclass(frozen=True)
class Rows:
    """The numbers of rows; each account belongs to one user, each user has some."""

    users: int
    accounts: int

    def joined(self, join: str) -> int:
        return self.users if join == "natural" else self.accounts


@dataclass(frozen=True)
class SwapSeen:
    """What viewers saw of a swap, in seconds from the request."""

    open_viewer_s: float | None
    """Until an open viewer saw the new topics; None if never."""
    any_viewer_s: float
    """Until a viewer that reopens the table, if necessary, saw the first new row."""
    complete_s: float
    """Until all rows of the new topics were shown."""
    nothing_s: float
    """How long that viewer had no row, an error, or only some of the rows."""


class System(Protocol):
    name: str

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def pid(self) -> int:
        """The root of its processes."""

    def build(self, pair: Pair, join: str, rows: Rows) -> float:
        """Joins these topics under the public name, and returns the seconds until all rows were shown."""

    def latencies(self, topic: str, join: str, messages: int, rate: float) -> list[float]:
        """Sends records to ``topic``, and returns the milliseconds until a remote viewer had each of them."""

    def swap(self, pair: Pair, called: str, rows: Rows) -> SwapSeen:
        """Swaps to these topics, whose users' names begin with ``called``, while viewers watch."""
