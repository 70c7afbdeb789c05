"""Sample data: the same each time, of other kinds in each world, and so that joins differ."""

from __future__ import annotations

import itertools
import random

import pytest

from evertable.demo.worlds import COLUMNS, WORLDS, World


def accounts(world: World, users: int, count: int) -> list[dict[str, object]]:
    return list(itertools.islice(world.accounts(users, random.Random(1)), count))


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.what)
def test_records_have_the_configured_columns(world: World) -> None:
    assert [set(user) for user in world.users(3)] == [set(COLUMNS["users"])] * 3
    assert {frozenset(account) for account in accounts(world, 10, 50)} == {frozenset(COLUMNS["accounts"])}
    assert list(world.users(50)) == list(world.users(50))


def test_worlds_share_ids_and_nothing_else() -> None:
    """So that half a pair can be swapped, and everybody sees that it was."""
    for one, other in itertools.combinations(WORLDS, 2):
        assert [user["userId"] for user in one.users(20)] == [user["userId"] for user in other.users(20)]
        assert not {user["name"] for user in one.users(200)} & {user["name"] for user in other.users(200)}
        assert not {*one.kinds} & {*other.kinds}
        assert not {*one.topics} & {*other.topics}


def test_one_user_in_ten_owns_nothing() -> None:
    owners = {account["userId"] for account in accounts(WORLDS[0], 100, 1000)}
    assert owners == {f"u{number}" for number in range(100) if number % 10 != 9}


def test_balances_move_and_stay_what_they_are_of() -> None:
    seen: dict[object, list[dict[str, object]]] = {}
    for account in accounts(WORLDS[0], 10, 500):
        seen.setdefault(account["userId"], []).append(account)
    for records in seen.values():
        assert len({record["accountType"] for record in records}) == 1
        assert len({record["balance"] for record in records}) > 1
        assert all(isinstance(balance := record["balance"], float) and balance >= 0 for record in records)


def test_a_world_too_small_for_accounts_ends() -> None:
    assert accounts(WORLDS[0], 0, 5) == []
