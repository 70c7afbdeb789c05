"""Records that are deleted, and topics that are made again, between a build and Spark's first read of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.serving.conftest import Configured
from tests.serving.rig import App, Records
from tests.serving.trouble import delete_topic, make_topic
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.engine.process import Engine
from evertable.engine.protocol import Started
from evertable.engine.spec import GenerationSpec
from evertable.generations.watch import TopicWatch


def test_a_topic_that_is_cut_before_it_is_read_is_built_anew(
    broker: EmbeddedBroker,
    new_topic: Callable[..., str],
    configured: Configured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark takes a partition whose offset 0 is gone for one without records, and would wait for ever."""
    topics = (new_topic(), new_topic())
    Records(broker.bootstrap).fill(topics, "a", 10, 20)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    start = Engine.start

    def cut_first(engine: Engine, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        if spec.generation == 1:
            for done in admin.delete_records([TopicPartition(topics[0], 0, 4)]).values():
                done.result(30)
        return start(engine, spec, timeout_s)

    monkeypatch.setattr(Engine, "start", cut_first)
    with App(configured(topics)) as app:
        wait_until(lambda: app.status.get("state") == "live", lambda: str(app.status), 180)  # it is built twice
        assert app.status["generation"] == 2
        assert [row["age"] for row in app.rows("users_ui", sort="age")] == list(range(4, 10))
        assert any("begins at offset 4 of partition 0, but the next offset to read was 0" in line for line in app.logs)


def test_a_topic_that_is_made_again_before_it_is_read_is_built_anew(
    broker: EmbeddedBroker,
    new_topic: Callable[..., str],
    configured: Configured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody sees what was begun on the one topic and filled from the other."""
    topics, records = (new_topic(), new_topic()), Records(broker.bootstrap)
    records.fill(topics, "a", 10, 20)
    start = Engine.start

    def made_again_first(engine: Engine, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        if spec.generation == 1:
            delete_topic(broker.bootstrap, topics[0])
            make_topic(broker.bootstrap, topics[0], 1)
            records.fill(topics, "b", 30, 0)
        return start(engine, spec, timeout_s)

    monkeypatch.setattr(Engine, "start", made_again_first)
    monkeypatch.setattr(TopicWatch, "add", lambda *told: None)  # it comes too late
    with App(configured(topics)) as app:
        wait_until(lambda: app.status.get("state") == "live", lambda: str(app.status), 180)  # it is built twice
        assert {row["name"] for row in app.rows("users_ui")} == {f"b {i}" for i in range(30)}
        assert not any("Generation 1 published" in line for line in app.logs)
        reasons = [row["reason"] for row in app.rows("generations", sort="generation")]
        assert f"The topic '{topics[0]}' was deleted and recreated" in reasons[0]
