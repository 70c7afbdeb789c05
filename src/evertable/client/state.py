"""The life of a watched table's connection."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class ConnectionState(StrEnum):
    """Where the connection stands::

                    ┌───────────────── next try ─────────────────┐
                    ▼                                            │
        start ► connecting ──► subscribing ──► live ──────────► lost
                    │ │             │ │        │                 ▲
                    │ └─────────────┼─┴────────┼─────────────────┘
                    ▼               ▼          ▼
                  failed          failed     failed       all but failed ──► closed

    ``subscribing`` lasts until the first page has come, ``lost`` until the next try. ``failed`` is what trying again
    cannot help: nobody was ever there, the token or the view is refused.
    """

    CONNECTING = "connecting"
    SUBSCRIBING = "subscribing"
    LIVE = "live"
    LOST = "lost"
    FAILED = "failed"
    CLOSED = "closed"


MOVES: dict[ConnectionState, frozenset[ConnectionState]] = {
    ConnectionState.CONNECTING: frozenset(
        {ConnectionState.SUBSCRIBING, ConnectionState.LOST, ConnectionState.FAILED, ConnectionState.CLOSED}
    ),
    ConnectionState.SUBSCRIBING: frozenset(
        {ConnectionState.LIVE, ConnectionState.LOST, ConnectionState.FAILED, ConnectionState.CLOSED}
    ),
    ConnectionState.LIVE: frozenset({ConnectionState.LOST, ConnectionState.FAILED, ConnectionState.CLOSED}),
    ConnectionState.LOST: frozenset({ConnectionState.CONNECTING, ConnectionState.CLOSED}),
    ConnectionState.FAILED: frozenset(),
    ConnectionState.CLOSED: frozenset(),
}


class Machine:
    """Holds a connection's state and tells of its moves."""

    def __init__(self, on_move: Callable[[ConnectionState], None] = lambda state: None) -> None:
        self.state = ConnectionState.CONNECTING
        self._on_move = on_move

    def to(self, state: ConnectionState) -> None:
        """Moves on; a move that the drawing does not have is a mistake of ours."""
        if state not in MOVES[self.state]:
            raise RuntimeError(f"a connection cannot go from {self.state} to {state}")
        self.state = state
        self._on_move(state)
