"""The life of a watched table's connection."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class State(StrEnum):
    """Where the connection stands::

                    ┌───────────────── next try ──────────────────┐
                    ▼                                             │
        start ► connecting ──► subscribing ──► live ─────────► lost
                    │  └────────────┼──────────────────────────►▲
                    │               ├──────────────────────────►┘
                    ▼               ▼
                 refused ◄──────────┘         closed ◄ all but refused

    ``subscribing`` lasts until the first page has come, ``lost`` until the next try.
    ``refused`` and ``live`` know no way to each other: what was granted once is not refused on the same socket.
    """

    CONNECTING = "connecting"
    SUBSCRIBING = "subscribing"
    LIVE = "live"
    LOST = "lost"
    REFUSED = "refused"
    CLOSED = "closed"


MOVES: dict[State, frozenset[State]] = {
    State.CONNECTING: frozenset({State.SUBSCRIBING, State.LOST, State.REFUSED, State.CLOSED}),
    State.SUBSCRIBING: frozenset({State.LIVE, State.LOST, State.REFUSED, State.CLOSED}),
    State.LIVE: frozenset({State.LOST, State.CLOSED}),
    State.LOST: frozenset({State.CONNECTING, State.CLOSED}),
    State.REFUSED: frozenset(),
    State.CLOSED: frozenset(),
}


class Machine:
    """Holds a connection's state and tells of its moves."""

    def __init__(self, on_move: Callable[[State], None] = lambda state: None) -> None:
        self.state = State.CONNECTING
        self._on_move = on_move

    def to(self, state: State) -> None:
        """Moves on; a move that the drawing does not have is a mistake of ours."""
        if state not in MOVES[self.state]:
            raise RuntimeError(f"a connection cannot go from {self.state} to {state}")
        self.state = state
        self._on_move(state)
