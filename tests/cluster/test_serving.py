"""All of Evertable on a cluster: live tables, a swap and a rollback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.cluster.conftest import SPARK
from tests.cluster.spark_cluster import CORES, SparkCluster
from tests.serving.inside import PLACE, at_once, context
from tests.serving.rig import ACCOUNTS, USERS, App, Records, config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.schema.joins import JoinType


def test_a_swap_and_a_rollback_on_a_cluster(
    broker: EmbeddedBroker, new_topic: Callable[..., str], cluster: SparkCluster, tmp_path: Path
) -> None:
    """The tables equal the reference; the slots are those of the executors."""
    topics = (new_topic(2), new_topic(2))
    records = Records(broker.bootstrap)
    records.fill(topics, "a", 20, 60)
    sources = {
        "users": {"topic": topics[0], "key": "userId", "columns": {**USERS, **PLACE["u"]}},
        "accounts": {"topic": topics[1], "key": "userId", "columns": {**ACCOUNTS, **PLACE["a"]}},
    }
    folder = str(tmp_path / "checkpoints")
    engine = {"master": cluster.url, "interval_s": 5, "readers": 2, "checkpoint_dir": folder, "spark": SPARK}
    with App(config(broker.bootstrap, "cluster", topics, tmp_path, sources=sources, engine=engine)) as app:
        wait_until(lambda: app.status.get("state") == "live", lambda: str(app.logs[-3:]))
        assert Counter(at_once(app).joined) == at_once(app).reference(JoinType.LEFT)
        verdict = app.verdict(app.control({"joinType": "natural"}))
        assert (verdict["result"], verdict["reason"]) == ("applied", "")
        assert Counter(at_once(app).joined) == at_once(app).reference(JoinType.NATURAL)
        records.send(topics[1], [{"userId": "u3", "accountType": "late", "balance": 1.0}])
        wait_until(lambda: "late" in {row["accountType"] for row in app.rows("final_ui")}, "the late row")
        assert app.http.post("/api/rollback").status_code == 202
        app.wait_for(lambda status: status["joinType"] == "left", "the rollback")
        wait_until(lambda: len(at_once(app).accounts) == 61, "the late row after the rollback")
        assert Counter(at_once(app).joined) == at_once(app).reference(JoinType.LEFT)
        wait_until(lambda: (context(app).engine.free_slots() or 0) > CORES, "both workers' slots")
