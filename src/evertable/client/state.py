"""The states of a watch's connection."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class ConnectionState(StrEnum):
    """The state of a connection::

                    ┌───────────────── next try ─────────────────┐
                    ▼                                            │
        start ► connecting ──► subscribing ──► live ──────────► lost
                    │ │             │ │        │                 ▲
                    │ └─────────────┼─┴────────┼─────────────────┘
                    ▼               ▼          ▼
                  failed          failed     failed       all but failed ──► closed

    ``subscribing`` lasts until the first page arrives, ``lost`` until the next try. ``failed`` means that a retry
    cannot help: the server was never reached, or it refused the token or the view.
    """

    CONNECTING = "connecting"
    SUBSCRIBING = "subscribing"
    LIVE = "live"
    LOST = "lost"
    FAILED = "failed"
    CLOSED = "closed"


_ENDS = {ConnectionState.LOST, ConnectionState.FAILED, ConnectionState.CLOSED}
MOVES: dict[ConnectionState, frozenset[ConnectionState]] = {
    ConnectionState.CONNECTING: frozenset({ConnectionState.SUBSCRIBING, *_ENDS}),
    ConnectionState.SUBSCRIBING: frozenset({ConnectionState.LIVE, *_ENDS}),
    ConnectionState.LIVE: frozenset(_ENDS),
    ConnectionState.LOST: frozenset({ConnectionState.CONNECTING, ConnectionState.CLOSED}),
    ConnectionState.FAILED: frozenset(),
    ConnectionState.CLOSED: frozenset(),
}


class StateMachine:
    """Holds a connection's state and reports each move."""

    def __init__(self, on_move: Callable[[ConnectionState], None] = lambda state: None) -> None:
        self.state = ConnectionState.CONNECTING
        self._on_move = on_move

    def move_to(self, state: ConnectionState) -> None:
        """Changes the state; RuntimeError if the diagram has no such move."""
        if state not in MOVES[self.state]:
            raise RuntimeError(f"a connection cannot go from {self.state} to {state}")
        self.state = state
        self._on_move(state)
