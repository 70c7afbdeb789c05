"""State records for tests, one of each kind."""

from __future__ import annotations

from dataclasses import replace

from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring
from evertable.state.identity import Identity, SourceIdentity
from evertable.state.records import (
    ControlOffset,
    ControlResult,
    GenerationRow,
    LastOwner,
    LiveRecord,
    Numbers,
    Owner,
    PreviousWiring,
    Record,
)

WIRING = Wiring("u1", "a1", JoinType.ASOF)
IDENTITY = Identity(
    SourceIdentity("u1", "id-u", "earliest", {0: 5, 1: 0}, "users"),
    SourceIdentity("a1", None, "latest", {0: 7}, "accounts"),
    {"join": "asof", "users columns": "userId string, age long"},
)
LIVE = LiveRecord(
    generation=7,
    wiring=WIRING,
    identity=IDENTITY,
    changelog_topic="evertable.demo.g000007",
    max_message_bytes=2_097_176,
    checkpoint="/checkpoints/7",
    created="2026-01-31T09:00:00+00:00",
    published="2026-01-31T09:00:05+00:00",
)
OWNER = Owner("f00", "a-host", 4711, "2026-01-31T08:59:00+00:00", claimed=3)
REMEMBERED: list[Record] = [
    LIVE,
    PreviousWiring(replace(WIRING, join=JoinType.INNER)),
    Numbers(last_generation=8, publication=12),
    ControlOffset(0, 5_000_000_000),
    ControlOffset(3, 1, "id-of-the-topic", "evertable.demo.control"),
    ControlResult(0, 17, 1_700_000_000_000, {"usersTopic": " Ü2 ", "joinType": None}, "rejected", "No such topic."),
    GenerationRow(7, WIRING, "live", "2026-01-31T09:00:00+00:00", rows=1_100_000, query_id="q", run_id="r"),
]
RECORDS: list[Record] = [*REMEMBERED, LastOwner(OWNER), replace(OWNER, leaving=True)]


def control_result(number: int, result: str = "applied") -> ControlResult:
    """Makes the result of the message at offset ``number``."""
    return ControlResult(0, number, number, {"usersTopic": f"u{number}"}, result)
