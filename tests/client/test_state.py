"""A connection moves only as its diagram allows."""

from __future__ import annotations

import pytest

from evertable.client.state import MOVES, ConnectionState, StateMachine


def test_the_first_state() -> None:
    assert StateMachine().state is ConnectionState.CONNECTING


@pytest.mark.parametrize("start", ConnectionState)
@pytest.mark.parametrize("target", ConnectionState)
def test_moves(start: ConnectionState, target: ConnectionState) -> None:
    """Legal moves are reported; illegal ones raise an error with both states."""
    reported: list[ConnectionState] = []
    machine = StateMachine(reported.append)
    machine.state = start
    if target in MOVES[start]:
        machine.move_to(target)
        assert (machine.state, reported) == (target, [target])
    else:
        with pytest.raises(RuntimeError, match=f"from {start} to {target}"):
            machine.move_to(target)
        assert (machine.state, reported) == (start, [])


def test_every_state_can_be_reached_and_only_the_ends_cannot_be_left() -> None:
    reached = {ConnectionState.CONNECTING}.union(*MOVES.values())
    assert reached == set(ConnectionState) == set(MOVES)
    assert {state for state, targets in MOVES.items() if not targets} == {
        ConnectionState.FAILED,
        ConnectionState.CLOSED,
    }
