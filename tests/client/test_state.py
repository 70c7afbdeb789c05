"""A connection moves only as its drawing says."""

from __future__ import annotations

import pytest

from evertable.client.state import MOVES, ConnectionState, Machine


def test_it_begins_with_connecting() -> None:
    assert Machine().state is ConnectionState.CONNECTING


@pytest.mark.parametrize("start", ConnectionState)
@pytest.mark.parametrize("target", ConnectionState)
def test_moves(start: ConnectionState, target: ConnectionState) -> None:
    """Legal moves are told; illegal ones raise, and name both states."""
    told: list[ConnectionState] = []
    machine = Machine(told.append)
    machine.state = start
    if target in MOVES[start]:
        machine.to(target)
        assert (machine.state, told) == (target, [target])
    else:
        with pytest.raises(RuntimeError, match=f"from {start} to {target}"):
            machine.to(target)
        assert (machine.state, told) == (start, [])


def test_every_state_can_be_reached_and_only_the_ends_cannot_be_left() -> None:
    reached = {ConnectionState.CONNECTING}.union(*MOVES.values())
    assert reached == set(ConnectionState) == set(MOVES)
    assert {state for state, targets in MOVES.items() if not targets} == {
        ConnectionState.FAILED,
        ConnectionState.CLOSED,
    }
