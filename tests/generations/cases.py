"""Configurations, identities and wirings that tests of generations share."""

from __future__ import annotations

from typing import Any

from evertable.config import Config, Swap
from evertable.generations.identity import identity_of
from evertable.generations.lifecycle import Lifecycle
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring
from evertable.state.identity import Identity

OFFSETS = {0: 5, 1: 0}, {0: 7}


def config(
    users: dict[str, Any] | None = None, join: str = "left", servers: str = "localhost:9", **more: Any
) -> Config:
    accounts = {"topic": "a1", "key": "userId", "columns": {"userId": "string", "balance": "double"}}
    users = {"topic": "u1", "key": "userId", "columns": {"userId": "string", "age": "long"}, **(users or {})}
    return Config.model_validate(
        {
            "kafka": {"bootstrap.servers": servers},
            "sources": {"users": users, "accounts": accounts},
            "join": {"type": join},
            **more,
        }
    )


def identity(ids: tuple[str | None, str | None] = ("id-u", "id-a"), **changes: Any) -> Identity:
    return identity_of(config(**changes), ids, OFFSETS)


A, B, C = (Wiring(f"users_{name}", f"accounts_{name}", JoinType.LEFT) for name in "abc")


def live_on(wiring: Wiring, rules: Swap | None = None) -> Lifecycle:
    """Returns a lifecycle whose generation 1 is live."""
    life = Lifecycle(rules or Swap())
    life.want(wiring, 0)
    life.started(1, 0)
    life.caught_up(1, 0)
    return life
