"""The key is what both topics have in common, and doubts are told."""

from __future__ import annotations

import json
from typing import Any

from evertable.inference.columns import Sample, looked_at
from evertable.inference.key import guess_key


def sample(topic: str, *rows: dict[str, Any]) -> Sample:
    return looked_at(topic, [json.dumps(row).encode() for row in rows])


USERS = sample("users", *({"userId": f"u{i}", "name": f"n{i}", "age": i % 3} for i in range(20)))


def test_the_same_name_and_the_same_values() -> None:
    accounts = sample("accounts", *({"userId": f"u{i % 20}", "kind": "chq", "balance": 1.5} for i in range(40)))
    key = guess_key(USERS, accounts)
    assert key is not None
    assert (key.left, key.right, key.doubts) == ("userId", "userId", ())


def test_other_names_but_the_same_values() -> None:
    accounts = sample("accounts", *({"owner": f"u{i % 20}", "kind": "chq"} for i in range(40)))
    key = guess_key(USERS, accounts)
    assert key is not None
    assert (key.left, key.right) == ("userId", "owner")


def test_the_same_name_and_other_values_is_a_doubt() -> None:
    accounts = sample("accounts", *({"userId": f"x{i}"} for i in range(40)))
    key = guess_key(USERS, accounts)
    assert key is not None
    assert (key.left, key.right) == ("userId", "userId")
    assert "the key is a guess by name: of what was looked at, 0% of the values of accounts.userId" in key.doubts[0]


def test_nothing_in_common() -> None:
    assert guess_key(USERS, sample("t", {"price": 1.5, "tags": []})) is None
