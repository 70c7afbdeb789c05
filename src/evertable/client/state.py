"""The states of a watch's connection."""

from __future__ import annotations

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
