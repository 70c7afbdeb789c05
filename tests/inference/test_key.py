"""The key is the column that both topics have in common; warnings are listed."""

from __future__ import annotations

import json
from typing import Any

from evertable.inference.columns import Sample, sample_of
from evertable.inference.key import infer_key


def sample(topic: str, *rows: dict[str, Any]) -> Sample:
    return sample_of(topic, [json.dumps(row).encode() for row in rows])


USERS = sample("users", *({"userId": f"u{i}", "name": f"n{i}", "age": i % 3} for i in range(20)))


def test_the_same_name_and_the_same_values() -> None:
    accounts = sample("accounts", *({"userId": f"u{i % 20}", "kind": "chq", "balance": 1.5} for i in range(40)))
    key = infer_key(USERS, accounts)
    assert key is not None
    assert (key.left, key.right, key.warnings) == ("userId", "userId", ())


def test_other_names_but_the_same_values() -> None:
    accounts = sample("accounts", *({"owner": f"u{i % 20}", "kind": "chq"} for i in range(40)))
    key = infer_key(USERS, accounts)
    assert key is not None
    assert (key.left, key.right) == ("userId", "owner")


def test_a_key_by_name_only_gives_a_warning() -> None:
    accounts = sample("accounts", *({"userId": f"x{i}"} for i in range(40)))
    key = infer_key(USERS, accounts)
    assert key is not None
    assert (key.left, key.right) == ("userId", "userId")
    assert "the key is a guess by name: in the samples, 0% of the values of accounts.userId" in key.warnings[0]


def test_nothing_in_common() -> None:
    assert infer_key(USERS, sample("t", {"price": 1.5, "tags": []})) is None
