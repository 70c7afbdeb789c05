"""Records deleted, and topics recreated, between a build and Spark's first read of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.serving.conftest import Configured
from tests.serving.faults import delete_topic, make_topic
from tests.serving.rig import App, Records
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.engine.process import Engine
from evertable.engine.protocol import Started
from evertable.engine.spec import GenerationSpec
from evertable.generations.watch import TopicWatch


def test_records_deleted_before_the_first_read_cause_a_rebuild(
    broker: EmbeddedBroker,
    new_topic: Callable[..., str],
    configured: Configured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark treats a partition without offset 0 as empty, and would wait for it forever."""
    topics = (new_topic(), new_topic())
    Records(broker.bootstrap).fill(topics, "a", 10, 20)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    start = Engine.start

    def delete_first(engine: Engine, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        if spec.generation == 1:
            for done in admin.delete_records([TopicPartition(topics[0], 0, 4)]).values():
                done.result(30)
        return start(engine, spec, timeout_s)

    monkeypatch.setattr(Engine, "start", delete_first)
    with App(configured(topics)) as app:
        wait_until(lambda: app.status.get("state") == "live", lambda: str(app.status), 180)  # it is built twice
        assert app.status["generation"] == 2
        assert [row["age"] for row in app.rows("users_ui", sort="age")] == list(range(4, 10))
        assert any("begins at offset 4 of partition 0, but the next offset to read was 0" in line for line in app.logs)


def test_a_topic_recreated_before_the_first_read_causes_a_rebuild(
    broker: EmbeddedBroker,
    new_topic: Callable[..., str],
    configured: Configured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody sees a generation that was started on one topic and filled from the other."""
    topics, records = (new_topic(), new_topic()), Records(broker.bootstrap)
    records.fill(topics, "a", 10, 20)
    start = Engine.start

    def recreate_first(engine: Engine, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        if spec.generation == 1:
            delete_topic(broker.bootstrap, topics[0])
            make_topic(broker.bootstrap, topics[0], 1)
            records.fill(topics, "b", 30, 0)
        return start(engine, spec, timeout_s)

    monkeypatch.setattr(Engine, "start", recreate_first)
    monkeypatch.setattr(TopicWatch, "add", lambda *_: None)  # the watch must not be faster
    with App(configured(topics)) as app:
        wait_until(lambda: app.status.get("state") == "live", lambda: str(app.status), 180)  # it is built twice
        assert {row["name"] for row in app.rows("users_ui")} == {f"b {i}" for i in range(30)}
        assert not any("Generation 1 published" in line for line in app.logs)
        reasons = [row["reason"] for row in app.rows("generations", sort="generation")]
        assert f"The topic '{topics[0]}' was deleted and recreated" in reasons[0]
