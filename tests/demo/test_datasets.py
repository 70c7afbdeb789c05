"""Sample data is reproducible, different in each dataset, and shows how joins differ."""

from __future__ import annotations

import itertools
import random

import pytest

from evertable.demo.datasets import COLUMNS, DATASETS, Dataset


def accounts(dataset: Dataset, users: int, count: int) -> list[dict[str, object]]:
    return list(itertools.islice(dataset.accounts(users, random.Random(1)), count))


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.title)
def test_records_have_the_configured_columns(dataset: Dataset) -> None:
    assert [set(user) for user in dataset.users(3)] == [set(COLUMNS["users"])] * 3
    assert {frozenset(account) for account in accounts(dataset, 10, 50)} == {frozenset(COLUMNS["accounts"])}
    assert list(dataset.users(50)) == list(dataset.users(50))


def test_datasets_share_ids_only() -> None:
    """One topic of a pair can be swapped, and the change is visible."""
    for one, other in itertools.combinations(DATASETS, 2):
        assert [user["userId"] for user in one.users(20)] == [user["userId"] for user in other.users(20)]
        assert not {user["name"] for user in one.users(200)} & {user["name"] for user in other.users(200)}
        assert not {*one.account_types} & {*other.account_types}
        assert not {*one.topics} & {*other.topics}


def test_one_user_in_ten_has_no_account() -> None:
    owners = {account["userId"] for account in accounts(DATASETS[0], 100, 1000)}
    assert owners == {f"u{number}" for number in range(100) if number % 10 != 9}


def test_balances_change_and_account_types_do_not() -> None:
    by_user: dict[object, list[dict[str, object]]] = {}
    for account in accounts(DATASETS[0], 10, 500):
        by_user.setdefault(account["userId"], []).append(account)
    for records in by_user.values():
        assert len({record["accountType"] for record in records}) == 1
        assert len({record["balance"] for record in records}) > 1
        assert all(isinstance(balance := record["balance"], float) and balance >= 0 for record in records)


def test_a_dataset_without_users_has_no_accounts() -> None:
    assert accounts(DATASETS[0], 0, 5) == []
