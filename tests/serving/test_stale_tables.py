"""Tables that are not kept up to date are stale, whatever the reason."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.proxy import Proxy, broker_behind_proxy
from tests.serving.faults import delete_topic, fresh_name, jvm_of, make_topic, user
from tests.serving.rig import App, Records, config
from tests.serving.topics import Pair
from tests.sockets import listening
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.generations import stall


@pytest.fixture(scope="module")
def behind_proxy() -> Iterator[tuple[EmbeddedBroker, Proxy]]:
    with broker_behind_proxy() as both:
        yield both


@pytest.fixture
def records(behind_proxy: tuple[EmbeddedBroker, Proxy]) -> Records:
    return Records(behind_proxy[0].bootstrap)


@pytest.fixture
def topics(behind_proxy: tuple[EmbeddedBroker, Proxy], records: Records) -> Pair:
    made = fresh_name("users"), fresh_name("accounts")
    for topic in made:
        make_topic(behind_proxy[0].bootstrap, topic, 1)
    records.fill(made, "a")
    return made


def test_tables_behind_dead_connections_are_stale_until_they_have_caught_up(
    behind_proxy: tuple[EmbeddedBroker, Proxy], topics: Pair, records: Records, tmp_path: Path
) -> None:
    """Connections are silently dropped; that Kafka accepts new ones does not make the tables live."""
    _, proxy = behind_proxy
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


def test_a_deleted_topic_makes_its_tables_stale(
    behind_proxy: tuple[EmbeddedBroker, Proxy], topics: Pair, tmp_path: Path
) -> None:
    """They are stale before Spark notices, which is at the end of an epoch."""
    broker, _ = behind_proxy
    engine = {"interval_s": 600, "checkpoint_dir": str(tmp_path / "checkpoints")}
    with App(config(broker.bootstrap, f"t{uuid.uuid4().hex[:12]}", topics, tmp_path, engine=engine)) as app:
        app.wait_live()
        delete_topic(broker.bootstrap, topics[1])
        status = app.wait_for(lambda status: status["state"] == "stale", "stale")
        assert f"The topic '{topics[1]}' is gone" in status["message"]
        assert len(app.rows("final_ui")) == 20


def test_a_spark_that_hangs_is_restarted(
    behind_proxy: tuple[EmbeddedBroker, Proxy],
    topics: Pair,
    records: Records,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is no error; the only sign is that nothing is read."""
    broker, _ = behind_proxy
    with App(config(broker.bootstrap, f"t{uuid.uuid4().hex[:12]}", topics, tmp_path)) as app:
        app.wait_live()
        jvm = jvm_of(app)
        with monkeypatch.context() as impatient:  # for the hanging Spark only: its successor may take its time
            impatient.setattr(stall, "RESTART_S", 12.0)
            os.kill(jvm, signal.SIGSTOP)
            records.send(topics[0], [user(100)])
            message = app.wait_for(lambda status: status["state"] == "stale", "stale")["message"]
            assert f"The topic '{topics[0]}' has 1 records to read; none was read for" in message
            wait_until(lambda: any("is started again: it reads nothing" in line for line in app.logs), "the restart")
        wait_until(lambda: len(app.rows("users_ui")) == 11, lambda: f"the row: {app.status} {app.logs}")
        app.wait_live()
        assert jvm_of(app) != jvm


def test_all_of_the_stack_listens_on_loopback_only(
    behind_proxy: tuple[EmbeddedBroker, Proxy], topics: Pair, tmp_path: Path
) -> None:
    """The server, Spark with its JVM, and what the tests run beside them."""
    broker, _ = behind_proxy
    with App(config(broker.bootstrap, f"t{uuid.uuid4().hex[:12]}", topics, tmp_path)) as app:
        app.wait_live()
        jvm = jvm_of(app)
        assert listening(jvm)
        assert {address for pid in (os.getpid(), jvm) for address in listening(pid) if not address.is_loopback} == set()
