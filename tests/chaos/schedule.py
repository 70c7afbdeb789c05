"""The schedule of a run, without I/O: a seed decides what goes wrong, when, and for how long."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from evertable.schema.joins import JoinType

LETTERS = "abc"
"""There are three topics for each side; a wiring combines any two."""
SIDES = ("users", "accounts")
GAP_S = (3.0, 9.0)
PAUSE_S = 3.0
"""Between two acts on the same thing."""


class Kind(StrEnum):
    """What may happen."""

    SWAP_BY_TOPIC = "swap by control topic"
    SWAP_BY_POST = "swap by POST"
    NONSENSE = "nonsense on the control topic"
    ROLLBACK = "rollback"
    BROKER_KILL = "broker killed"
    BROKER_PAUSE = "broker paused"
    SPARK_KILL = "Spark's JVM killed"
    SERVER_KILL = "server killed"
    SLOW_VIEWERS = "viewers that do not read"
    RECREATION = "topic recreated"
    DISK_FULL = "disk full under the checkpoints"
    CONNECTIONS_DROPPED = "connections silently dropped"
    BLACK_HOLE = "black hole"
    LATENCY = "200 ms latency"


DECK = (*Kind, Kind.SWAP_BY_TOPIC, Kind.SWAP_BY_POST, Kind.SWAP_BY_POST)
"""Drawn without replacement, so that each kind comes once in about 100 seconds."""
HOLDS: dict[Kind, tuple[float, float]] = {
    Kind.BROKER_KILL: (1, 12),
    Kind.BROKER_PAUSE: (1, 15),
    Kind.SERVER_KILL: (0, 4),
    Kind.SLOW_VIEWERS: (2, 10),
    Kind.DISK_FULL: (3, 15),
    Kind.BLACK_HOLE: (2, 8),
    Kind.LATENCY: (5, 20),
}
"""Seconds from a fault to its repair, for faults that are repaired."""
SHARED: dict[Kind, str] = {
    Kind.BROKER_KILL: "broker",
    Kind.BROKER_PAUSE: "broker",
    Kind.RECREATION: "broker",
    Kind.BLACK_HOLE: "network",
    Kind.LATENCY: "network",
}
"""Acts on the same thing do not overlap; each kind without an entry has its own."""
NONSENSE = (
    "not json",
    "[1, 2]",
    '{"joinType": "outer"}',
    '{"usersTopic": 42}',
    '{"usersTopic": "no-such-topic"}',
    '{"accountsTopic": "not a name!"}',
    "",
)


@dataclass(frozen=True)
class Act:
    """Something that happens ``at_s`` seconds after the beginning, and is healed ``hold_s`` later."""

    at_s: float
    kind: Kind
    hold_s: float = 0.0
    what: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        healed = f", healed after {self.hold_s:.1f} s" if self.kind in HOLDS else ""
        details = "".join(f", {name} {value}" for name, value in self.what.items())
        return f"{self.at_s:6.1f} s  {self.kind}{healed}{details}"


@dataclass(frozen=True)
class Step:
    """The fault of an act, or its repair."""

    at_s: float
    act: Act
    heals: bool = False


def schedule(seed: int, duration_s: float) -> list[Act]:
    """Returns the acts of that many seconds, in order."""
    chance = random.Random(seed)
    free: dict[str, float] = {}
    acts: list[Act] = []
    wired = dict.fromkeys(SIDES, LETTERS[0])
    now = chance.uniform(*GAP_S)
    for kind in _kinds(chance):
        if now > duration_s:
            break
        place = SHARED.get(kind, kind)
        at, hold = round(max(now, free.get(place, 0.0)), 1), round(chance.uniform(*HOLDS.get(kind, (0, 0))), 1)
        free[place] = at + hold + PAUSE_S
        what = _what(kind, chance, wired)
        acts.append(Act(at, kind, hold, what))
        wired.update({side: what[f"{side}Topic"] for side in SIDES if f"{side}Topic" in what})
        now += chance.uniform(*GAP_S)
    return sorted(acts, key=lambda act: act.at_s)


def steps(acts: Sequence[Act]) -> list[Step]:
    """Returns all faults and repairs, in order of time."""
    faults = [Step(act.at_s, act) for act in acts]
    repairs = [Step(act.at_s + act.hold_s, act, heals=True) for act in acts if act.kind in HOLDS]
    return sorted([*faults, *repairs], key=lambda step: step.at_s)


def swap_request(chance: random.Random) -> dict[str, str]:
    """Returns a control message: a whole wiring, or a part of it."""
    whole = {
        "usersTopic": chance.choice(LETTERS),
        "accountsTopic": chance.choice(LETTERS),
        "joinType": chance.choice(list(JoinType)).value,
    }
    kept = chance.sample(sorted(whole), chance.choice((1, 2, 3, 3)))
    return {key: value for key, value in whole.items() if key in kept}


def _kinds(chance: random.Random) -> Iterator[Kind]:
    while True:
        yield from chance.sample(DECK, len(DECK))


def _what(kind: Kind, chance: random.Random, wired: dict[str, str]) -> dict[str, Any]:
    match kind:
        case Kind.SWAP_BY_TOPIC | Kind.SWAP_BY_POST:
            return swap_request(chance)
        case Kind.NONSENSE:
            return {"value": chance.choice(NONSENSE)}
        case Kind.SERVER_KILL:
            return {"with": chance.choice(("nothing else", "Spark"))}
        case Kind.SLOW_VIEWERS:
            return {"viewers": chance.choice((1, 3, 5))}
        case Kind.RECREATION:
            side = chance.choice(SIDES)
            letter = chance.choice((wired[side], *LETTERS))  # twice as likely the live one
            return {"side": side, "letter": letter, "records": chance.choice((1, 100, 1_000))}
        case _:
            return {}
