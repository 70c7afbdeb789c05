"""One fault after another under a live app: tables stay readable, and the app recovers by itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from tests.serving.faults import delete_topic, fresh_name, jvm_of, live_row, make_topic, names, user, wait_for_row
from tests.serving.inside import context
from tests.serving.rig import App, Records, config
from tests.serving.topics import Pair
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker


@pytest.fixture(scope="module")
def topics(new_topic: Callable[..., str], records: Records) -> Pair:
    made = new_topic(2), new_topic(2)
    records.fill(made, "a")
    return made


@pytest.fixture(scope="module")
def app(broker: EmbeddedBroker, topics: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("supervised")
    with App(config(broker.bootstrap, fresh_name("s"), topics, folder, swap={"linger_s": 30})) as started:
        started.wait_live()
        yield started


def test_a_lingering_generation_goes_live_again_as_it_is(app: App) -> None:
    """Its query is not restarted."""
    before = live_row(app)
    assert app.verdict(app.control({"joinType": "inner"}))["result"] == "applied"
    assert live_row(app)["generation"] == before["generation"] + 1
    rollback = app.http.post("/api/rollback").json()
    assert app.verdict((rollback["partition"], rollback["offset"]))["result"] == "applied"
    after = live_row(app)
    same = ("generation", "queryId", "runId", "created")
    assert [after[name] for name in same] == [before[name] for name in same]
    assert f"Generation {before['generation']} live again" in " ".join(app.logs)


def test_rows_of_a_new_partition_appear_without_a_rebuild(broker: EmbeddedBroker, app: App, topics: Pair) -> None:
    before = live_row(app)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_partitions([NewPartitions(topics[0], 3)])[topics[0]].result()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "topic.metadata.refresh.interval.ms": 500})
    wait_until(lambda: len(producer.list_topics(topics[0]).topics[topics[0]].partitions) == 3)
    producer.produce(topics[0], b'{"userId": "u1", "name": "a new", "age": 1}', partition=2)
    assert producer.flush(30) == 0
    wait_for_row(app, "a new")
    wait_until(lambda: f"The topic '{topics[0]}' had 2 partitions and has 3." in app.logs)
    after = live_row(app)
    assert (after["generation"], after["runId"]) == (before["generation"], before["runId"])


def test_tables_stay_while_a_killed_spark_is_restarted(app: App, topics: Pair, records: Records) -> None:
    before, rows = live_row(app), app.rows("final_ui")
    os.kill(jvm_of(app), signal.SIGKILL)
    stale = app.wait_for(lambda status: status["state"] == "stale", "the status stale")
    assert stale["message"].startswith("not kept up to date for ")
    assert stale["generation"] == before["generation"]
    assert app.rows("final_ui") == rows
    assert any(line.startswith("Spark ended and is started again: ") for line in app.logs)
    records.send(topics[0], [user(50)])
    assert app.wait_live()["message"] == ""
    wait_for_row(app, "a 50")
    after = live_row(app)
    assert after["generation"] == before["generation"]
    assert after["runId"] != before["runId"]


def test_a_recreated_topic_is_read_from_the_beginning(broker: EmbeddedBroker, app: App, topics: Pair) -> None:
    """The wiring stays; only rows of the new topic are shown."""
    before = app.status
    delete_topic(broker.bootstrap, topics[0])
    make_topic(broker.bootstrap, topics[0])
    records = Records(broker.bootstrap)  # a new producer: the other one still knows three partitions
    records.send(topics[0], [user(number, "z") for number in range(5)])
    after = app.wait_for(
        lambda status: status["generation"] > before["generation"] and status["state"] == "live", "a rebuild"
    )
    assert [after[key] for key in ("usersTopic", "accountsTopic", "joinType")] == [*topics, "left"]
    wait_until(lambda: names(app) == {f"z {number}" for number in range(5)})
    assert {row["name"].split()[0] for row in app.rows("final_ui")} == {"z"}
    assert any(f"Generation {before['generation']} cannot go on" in line for line in app.logs)


def test_a_generation_that_cannot_continue_is_stopped_until_there_is_another(
    broker: EmbeddedBroker, app: App, new_topic: Callable[..., str]
) -> None:
    """Otherwise rows of a recreated topic would mix with the old one's until the rebuild is done."""
    users, accounts = new_topic(), new_topic()  # without records, so that Spark misses none of them
    app.verdict(app.control({"usersTopic": users, "accountsTopic": accounts}))
    before = app.wait_for(lambda status: status["usersTopic"] == users, "the swap")["generation"]
    delete_topic(broker.bootstrap, accounts)  # so that nothing can be built
    delete_topic(broker.bootstrap, users)
    make_topic(broker.bootstrap, users, 1)
    app.wait_for(lambda status: status["state"] == "stale" and "recreated" in status["message"], "the status stale")
    wait_until(lambda: not context(app).engine.running, "no query")
    tries = sum("TOPIC_NOT_FOUND" in line for line in app.logs)
    Records(broker.bootstrap).send(users, [user(number) for number in range(50)])
    wait_until(lambda: sum("TOPIC_NOT_FOUND" in line for line in app.logs) > tries, "one more try")
    assert (app.status["generation"], names(app)) == (before, set())
    make_topic(broker.bootstrap, accounts, 1)
    app.wait_for(lambda status: status["generation"] > before and status["state"] == "live", "a rebuild")
    assert len(names(app)) == 50
