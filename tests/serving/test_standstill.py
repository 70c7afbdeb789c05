"""What is shown as live is live: tables that stand still say so, whatever the reason."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.proxy import Proxy, broker_behind_proxy
from tests.serving.rig import App, Records, config
from tests.serving.trouble import delete_topic, fresh_name, make_topic, user
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker


@pytest.fixture(scope="module")
def behind_proxy() -> Iterator[tuple[EmbeddedBroker, Proxy]]:
    with broker_behind_proxy() as both:
        yield both


def test_tables_behind_dead_connections_are_stale_until_they_have_caught_up(
    behind_proxy: tuple[EmbeddedBroker, Proxy], tmp_path: Path
) -> None:
    """Connections are dropped without a word; Kafka answers new ones at once, which says nothing of the old ones."""
    broker, proxy = behind_proxy
    topics = fresh_name("users"), fresh_name("accounts")
    for topic in topics:
        make_topic(broker.bootstrap, topic, 1)
    records = Records(broker.bootstrap)
    records.fill(topics, "a")
    with App(config(proxy.bootstrap, f"t{uuid.uuid4().hex[:12]}", topics, tmp_path)) as app:
        app.wait_live()
        proxy.drop_established()
        records.send(topics[0], [user(number) for number in range(100, 150)])
        states: list[tuple[str, bool]] = []

        def is_whole() -> bool:
            state = app.status["state"]
            whole = len(app.rows("users_ui")) == 60
            states.append((state, whole))
            return whole and state == "live"

        wait_until(is_whole, lambda: f"all rows, live: {states[-1:]} {app.status} {app.logs}")
        seen = [state for state, whole in states if not whole]
        assert "stale" in seen, states
        assert "live" not in seen[seen.index("stale") :], "stale tables were shown as live before they had caught up"


def test_a_deleted_topic_makes_its_tables_stale(behind_proxy: tuple[EmbeddedBroker, Proxy], tmp_path: Path) -> None:
    """Before Spark notices, at the end of an epoch."""
    broker, _ = behind_proxy
    topics = fresh_name("users"), fresh_name("accounts")
    for topic in topics:
        make_topic(broker.bootstrap, topic, 1)
    Records(broker.bootstrap).fill(topics, "a")
    engine = {"interval_s": 600, "checkpoint_dir": str(tmp_path / "checkpoints")}
    with App(config(broker.bootstrap, f"t{uuid.uuid4().hex[:12]}", topics, tmp_path, engine=engine)) as app:
        app.wait_live()
        delete_topic(broker.bootstrap, topics[1])
        status = app.wait_for(lambda status: status["state"] == "stale", "stale")
        assert f"The topic '{topics[1]}' is gone" in status["message"]
        assert len(app.rows("final_ui")) == 20
