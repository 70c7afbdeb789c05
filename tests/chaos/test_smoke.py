"""A few acts of the chaos suite, so that it keeps working between runs of ``scripts/test --chaos``."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.run import run
from tests.chaos.schedule import Act, Kind
from tests.proxy import broker_behind_proxy

ACTS = [
    Act(0.5, Kind.SLOW_VIEWERS, 3.0, {"viewers": 3}),
    Act(1.0, Kind.SWAP_BY_TOPIC, what={"usersTopic": "b", "joinType": "natural"}),
    Act(1.5, Kind.NONSENSE, what={"value": "not json"}),
    Act(2.0, Kind.BROKER_PAUSE, 1.0),
    Act(3.5, Kind.RECREATION, what={"side": "accounts", "letter": "c", "records": 10}),
    Act(4.0, Kind.LATENCY, 2.0),
    Act(6.5, Kind.CONNECTIONS_DROPPED),
    Act(6.6, Kind.SWAP_BY_POST, what={"usersTopic": "c"}),
    Act(8.0, Kind.BLACK_HOLE, 1.0),
]


def test_a_little_chaos_changes_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    with broker_behind_proxy() as (broker, proxy):
        assert run(broker, proxy, tmp_path, 1, ACTS, lines.append) == [], "\n".join(lines)
