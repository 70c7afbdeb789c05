"""A worker dies with its executor: no row is lost or repeated, and no operator is needed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.cluster.conftest import SPARK
from tests.cluster.generations import joins
from tests.cluster.spark_cluster import CORES, SparkCluster
from tests.engine.outcomes import packed
from tests.engine.rig import have_committed, slowly
from tests.serving.inside import PLACE, AtOnce, at_once
from tests.serving.rig import ACCOUNTS, USERS, App, Records, config
from tests.serving.topics import Pair
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.engine.protocol import Died, EngineEvent, Failed, Ready, Started, TaskSlots
from evertable.schema.joins import JoinType


def test_all_joins_continue_from_their_checkpoints(
    broker: EmbeddedBroker, new_topic: Callable[..., str], cluster: SparkCluster, tmp_path: Path
) -> None:
    """It continues after a commit and while records flow, on the rest of the cluster; the driver survives."""
    events: list[EngineEvent] = []
    records = packed(200, number=42)
    third = len(records) // 3
    with (
        Engine(EngineSettings(cluster.url, SPARK, tmp_path / "spark.log"), events.append) as engine,
        joins(broker.bootstrap, (new_topic(3), new_topic(3)), engine, tmp_path) as all_joins,
    ):
        first = all_joins.all[0]
        all_joins.send(records[:third])
        for generation in all_joins.all:
            generation.start()
        all_joins.read()
        wait_until(lambda: have_committed(events, all_joins.all), "a commit")
        wait_until(lambda: last_slots(events) == 2 * CORES, "both workers")
        before = sum(isinstance(event, Started) for event in events)
        sender = threading.Thread(target=first.send, args=(slowly(records[third:]),))
        sender.start()
        flowing = len(first.seen) + 50
        first.read_until(lambda: len(first.seen) > flowing)
        cluster.workers.pop(0).kill()
        sender.join()
        all_joins.read()
        all_joins.assert_equal_reference()
        assert last_slots(events) == CORES
        assert [event for event in events if isinstance(event, Died)] == []
        failed = [event for event in events if isinstance(event, Failed)]
        assert failed
        assert all(event.retriable for event in failed)
        assert sum(isinstance(event, Started) for event in events) > before
    cluster.add_worker()


def last_slots(events: list[EngineEvent]) -> int:
    return next(event.slots for event in reversed(events) if isinstance(event, TaskSlots | Ready))


def is_right(seen: AtOnce) -> bool:
    return Counter(seen.joined) == seen.reference(JoinType.LEFT)


def test_viewers_keep_their_tables_and_their_generation(
    broker: EmbeddedBroker, new_topic: Callable[..., str], cluster: SparkCluster, tmp_path: Path
) -> None:
    """Without any worker the tables are stale; with new ones they catch up."""
    topics: Pair = (new_topic(2), new_topic(2))
    records = Records(broker.bootstrap)
    records.fill(topics, "a", 20, 40)
    sources = {
        "users": {"topic": topics[0], "key": "userId", "columns": {**USERS, **PLACE["u"]}},
        "accounts": {"topic": topics[1], "key": "userId", "columns": {**ACCOUNTS, **PLACE["a"]}},
    }
    engine = {"master": cluster.url, "interval_s": 5, "checkpoint_dir": str(tmp_path / "checkpoints"), "spark": SPARK}
    configuration = config(broker.bootstrap, "cluster-death", topics, tmp_path, sources=sources, engine=engine)
    with App(configuration) as app:
        wait_until(lambda: app.status.get("state") == "live", "a live generation")
        for worker in cluster.workers:
            worker.kill()
        cluster.workers.clear()
        wait_until(lambda: app.status["state"] == "stale", lambda: str(app.status))
        assert len(at_once(app).users) == 20
        records.send(topics[0], [{"userId": "u3", "name": "a late", "age": 1}])
        cluster.add_worker()
        cluster.add_worker()
        wait_until(lambda: len(at_once(app).users) == 21, lambda: f"{app.status} {app.logs[-3:]}")
        wait_until(lambda: app.status["state"] == "live", lambda: str(app.status))
        wait_until(lambda: is_right(at_once(app)), lambda: str(at_once(app)))  # the query restarts from its last commit
        assert (app.status["generation"], app.publication) == (1, 1)
