"""A connection moves only as its diagram allows."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from evertable.client.connection import MOVES, Connection, ConnectionState
from evertable.client.receiver import PageReceiver
from evertable.views.view import View


@pytest.fixture
def connection() -> Connection:
    unused: Any = nullcontext
    return Connection(unused, PageReceiver("t", View()), "http://here")


def test_the_first_state(connection: Connection) -> None:
    assert connection.state is ConnectionState.CONNECTING


@pytest.mark.parametrize("start", ConnectionState)
@pytest.mark.parametrize("target", ConnectionState)
def test_moves(connection: Connection, start: ConnectionState, target: ConnectionState) -> None:
    """Illegal moves raise an error with both states."""
    connection.state = start
    if target in MOVES[start]:
        connection.move_to(target)
        assert connection.state is target
    else:
        with pytest.raises(RuntimeError, match=f"from {start} to {target}"):
            connection.move_to(target)
        assert connection.state is start


def test_every_state_can_be_reached_and_only_the_ends_cannot_be_left() -> None:
    reached = {ConnectionState.CONNECTING}.union(*MOVES.values())
    assert reached == set(ConnectionState) == set(MOVES)
    assert {state for state, targets in MOVES.items() if not targets} == {
        ConnectionState.FAILED,
        ConnectionState.CLOSED,
    }
