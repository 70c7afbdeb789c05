"""Join types and their aliases, and the joined table's columns."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evertable.schema.columns import Column, parse_columns
from evertable.schema.joins import JoinType, joined_columns


@dataclass(frozen=True)
class Input:
    name: str
    key: str
    columns: tuple[Column, ...]


def source(name: str, key: str, *columns: str) -> Input:
    return Input(name, key, parse_columns(dict.fromkeys((key, *columns), "string")))


USERS = source("users", "userId", "name", "ts")
ACCOUNTS = source("accounts", "userId", "balance", "name", "ts")


@pytest.mark.parametrize(
    ("text", "join"),
    [
        ("inner", JoinType.INNER),
        ("JOIN", JoinType.INNER),
        (" Left ", JoinType.LEFT),
        ("left_outer", JoinType.LEFT),
        ("naturalJoin", JoinType.NATURAL),
        ("aj", JoinType.ASOF),
        ("as_of", JoinType.ASOF),
        ("AsOf", JoinType.ASOF),
    ],
)
def test_spellings(text: str, join: JoinType) -> None:
    """Any case, and the usual other names."""
    assert join == JoinType.parse(text)


@pytest.mark.parametrize("text", ["", "outer", "innner", "right", "as of"])
def test_anything_else_is_refused(text: str) -> None:
    """No fallback hides a typo."""
    with pytest.raises(ValueError, match="is not a join type; known are inner, left, natural, asof"):
        JoinType.parse(text)


@pytest.mark.parametrize("join", [JoinType.INNER, JoinType.LEFT, JoinType.NATURAL])
def test_left_columns_come_first(join: JoinType) -> None:
    """Left columns, then right ones without the key; a clashing right one gets its source's name."""
    expected = ["userId", "name", "ts", "balance", "accounts_name", "accounts_ts"]
    assert expected == [column.name for column in joined_columns(join, USERS, ACCOUNTS)]


def test_asof_is_about_the_right_rows() -> None:
    """Right columns, then ``ts``, then left ones without the key; ``ts`` keeps its name before either side's."""
    columns = joined_columns(JoinType.ASOF, USERS, ACCOUNTS)
    expected = ["userId", "balance", "accounts_name", "accounts_ts", "ts", "name", "users_ts"]
    assert expected == [column.name for column in columns]
    assert [index for index, column in enumerate(columns) if column.column is None] == [4]


def test_keys_may_have_different_names() -> None:
    """Each side's key is left out by its own name."""
    left, right = source("users", "id", "name"), source("accounts", "owner", "id")
    assert [column.name for column in joined_columns(JoinType.INNER, left, right)] == ["id", "name", "accounts_id"]
    assert [column.name for column in joined_columns(JoinType.ASOF, left, right)] == ["owner", "id", "ts", "name"]
