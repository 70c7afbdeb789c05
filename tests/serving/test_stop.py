"""A stop while Kafka is unreachable ends everything and leaves nothing behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serving.faults import fresh_name, make_topic
from tests.serving.process import Process
from tests.serving.rig import App, Records, config, settings
from tests.serving.topics import Pair
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(data_dir=tmp_path / "broker") as started:
        yield started


@pytest.fixture
def topics(own_broker: EmbeddedBroker) -> Pair:
    made = fresh_name("users"), fresh_name("accounts")
    for topic in made:
        make_topic(own_broker.bootstrap, topic)
    Records(own_broker.bootstrap).fill(made, "a")
    return made


def test_a_process_ends_with_its_children(own_broker: EmbeddedBroker, topics: Pair, tmp_path: Path) -> None:
    """Two generations run, a rollback is being sent, and the broker is dead."""
    started = settings(own_broker.bootstrap, fresh_name("p"), topics, tmp_path, swap={"linger_s": 60})
    with Process(started, tmp_path) as process:
        process.wait_live()
        assert process.verdict(process.control({"joinType": "inner"}))["result"] == "applied"
        own_broker.kill()
        posting = threading.Thread(target=lambda: process.http.post("/api/rollback"))
        posting.start()
        process.wait_for(lambda status: status["state"] == "stale", "the status stale")
        assert process.end() == 0
        assert process.lines[-1] == "Stopped."
        wait_until(lambda: is_gone(process.group), "the end of Spark")
        posting.join(60)


@pytest.mark.parametrize("live", [True, False])
def test_no_thread_is_left(own_broker: EmbeddedBroker, topics: Pair, tmp_path: Path, live: bool) -> None:
    """It may be stopped before it ever reached Kafka."""
    before = set(threading.enumerate())  # engines of other tests may be running
    if not live:
        own_broker.kill()
    with App(config(own_broker.bootstrap, fresh_name("a"), topics, tmp_path)) as app:
        if live:
            app.wait_live()
            own_broker.kill()
            app.wait_for(lambda status: status["state"] == "stale", "the status stale")
        else:
            wait_until(lambda: "Starting" in " ".join(app.logs))
    assert app.failure is None
    wait_until(lambda: not left(before), lambda: f"the end of {left(before)}")


def left(before: set[threading.Thread]) -> list[str]:
    names = (thread.name for thread in threading.enumerate() if thread not in before)
    return [name for name in names if name.startswith(("evertable-", "engine-"))]


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False
