"""The chaos suite itself runs: a few acts, so that it does not rot between runs of ``scripts/test --chaos``."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.run import run
from tests.chaos.schedule import Act, Kind

from evertable.broker import EmbeddedBroker

ACTS = [
    Act(0.5, Kind.SLOW_VIEWERS, 3.0, {"viewers": 3}),
    Act(1.0, Kind.SWAP_BY_TOPIC, what={"usersTopic": "b", "joinType": "natural"}),
    Act(1.5, Kind.NONSENSE, what={"value": "not json"}),
    Act(2.0, Kind.BROKER_PAUSE, 1.0),
    Act(3.5, Kind.RECREATION, what={"side": "accounts", "letter": "c", "records": 10}),
]


def test_a_little_chaos_changes_nothing(broker: EmbeddedBroker, tmp_path: Path) -> None:
    said: list[str] = []
    assert run(broker, tmp_path, 1, ACTS, said.append) == [], "\n".join(said)
