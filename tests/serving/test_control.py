"""Control messages rewire a running app; rejected ones change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.serving.conftest import Configured
from tests.serving.rig import App, Records, config
from tests.serving.topics import Pair
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker


@pytest.fixture(scope="module")
def app(broker: EmbeddedBroker, pairs: dict[str, Pair], tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """One app for all tests that leave it live on some wiring."""
    folder: Path = tmp_path_factory.mktemp("app")
    with App(config(broker.bootstrap, "control-tests", pairs["a"], folder, swap={"linger_s": 1})) as running:
        running.wait_live()
        yield running


def wiring(status: dict[str, Any]) -> tuple[str, str, str]:
    return status["usersTopic"], status["accountsTopic"], status["joinType"]


def swap(app: App, message: dict[str, Any]) -> dict[str, Any]:
    """Sends the message, waits until it is settled, and returns the status."""
    app.verdict(app.control(message))
    return app.status


def begin(app: App, pairs: dict[str, Pair], join: str = "left") -> dict[str, Any]:
    """Makes the app live on pair a."""
    return swap(app, {"usersTopic": pairs["a"][0], "accountsTopic": pairs["a"][1], "joinType": join})


def test_one_key_changes_one_thing(app: App, pairs: dict[str, Pair]) -> None:
    """The other keys keep their values."""
    begin(app, pairs)
    status = swap(app, {"usersTopic": pairs["b"][0]})
    assert wiring(status) == (pairs["b"][0], pairs["a"][1], "left")
    assert {row["name"].split()[0] for row in app.rows("users_ui")} == {"b"}
    assert {row["accountType"] for row in app.rows("accounts_ui")} == {"a"}
    status = swap(app, {"joinType": "inner"})
    assert wiring(status) == (pairs["b"][0], pairs["a"][1], "inner")


def test_all_keys_change_everything_and_the_log_has_each_step(app: App, pairs: dict[str, Pair]) -> None:
    begin(app, pairs)
    before = len(app.logs)
    place = app.control({"usersTopic": pairs["c"][0], "accountsTopic": pairs["c"][1], "joinType": "natural"})
    assert app.verdict(place)["result"] == "applied"
    status = app.status
    assert wiring(status) == (*pairs["c"], "natural")
    assert (status["state"], status["rows"], len(app.rows("final_ui"))) == ("live", 30, 30)
    number = status["generation"]
    lines = " | ".join(app.logs[before:])
    for part in (
        f"received (partition {place[0]}, offset {place[1]}), resolved to {pairs['c'][0]} natural {pairs['c'][1]}",
        f"Building generation {number}: {pairs['c'][0]} natural {pairs['c'][1]}",
        f"Generation {number} published after",
    ):
        assert part in lines
    row = next(row for row in app.rows("generations") if row["generation"] == number)
    assert (row["state"], row["joinType"], row["rows"]) == ("live", "natural", 30)
    assert row["queryId"]
    assert row["runId"]
    wait_until(lambda: f"Generation {number - 1} retired" in app.logs)


@pytest.mark.parametrize("message", [{}, {"joinType": ""}, {"usersTopic": None, "accountsTopic": "  "}])
def test_a_message_without_values_changes_nothing(app: App, pairs: dict[str, Pair], message: dict[str, Any]) -> None:
    """Only ``lastApplied`` changes."""
    before = begin(app, pairs)
    publication = app.publication
    place = app.control(message)
    assert app.verdict(place)["result"] == "unchanged"
    after = app.status
    assert {**after, "lastApplied": None} == {**before, "lastApplied": None}
    assert after["lastApplied"] >= before["lastApplied"]
    assert app.publication == publication


def test_values_are_trimmed_and_joins_spelled_in_any_way(app: App, pairs: dict[str, Pair]) -> None:
    begin(app, pairs)
    status = swap(app, {"usersTopic": f"  {pairs['b'][0]}\n", "joinType": " LEFT_outer "})
    assert wiring(status) == (pairs["b"][0], pairs["a"][1], "left")
    assert swap(app, {"joinType": "AJ"})["joinType"] == "asof"


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        (b"not json", "NOT_JSON"),
        (b"", "NOT_JSON"),
        (b"[1]", "NOT_AN_OBJECT"),
        (b'{"usersTopic": 3}', "WRONG_TYPE"),
        (b'{"joinType": "outer"}', "UNKNOWN_JOIN_TYPE"),
        (b'{"usersTopic": "no such topic"}', "INVALID_TOPIC_NAME"),
        (b'{"usersTopic": "no-such-topic"}', "TOPIC_NOT_FOUND"),
    ],
)
def test_a_rejected_message_changes_nothing(
    app: App, pairs: dict[str, Pair], records: Records, value: bytes, condition: str
) -> None:
    """Same query run, same publication, same rows."""
    begin(app, pairs)
    live = next(row for row in app.rows("generations") if row["state"] == "live")
    before = (app.publication, {**app.status}, app.rows("final_ui"))
    known = len(app.rows("control_raw"))
    records.send(app.config.control.topic, [value])
    wait_until(lambda: len(app.rows("control_raw")) == known + 1)
    verdict = app.rows("control_raw")[-1]
    assert (verdict["result"], verdict["reason"].split(":")[0]) == ("rejected", condition)
    assert condition in app.logs[-1]
    assert (app.publication, {**app.status}, app.rows("final_ui")) == before
    assert next(row["runId"] for row in app.rows("generations") if row["state"] == "live") == live["runId"]


def test_a_rollback_reuses_a_lingering_generation(app: App, pairs: dict[str, Pair]) -> None:
    """One that was retired is rebuilt."""
    first = begin(app, pairs)
    second = swap(app, {"joinType": "inner"})
    answer = app.http.post("/api/rollback")
    place = (answer.json()["partition"], answer.json()["offset"])
    assert app.verdict(place)["result"] == "applied"
    back = app.status
    assert wiring(back) == wiring(first)
    assert back["generation"] in (first["generation"], second["generation"] + 1)


def test_a_burst_ends_in_the_last_wiring_with_few_builds(app: App, pairs: dict[str, Pair], records: Records) -> None:
    """Thirty messages arrive at once; only the newest wiring is completed."""
    begin(app, pairs)
    before = len(app.rows("generations"))  # not the live one's number, as a lingering one may be live
    last = app.control({})[1]
    joins = ["inner", "natural", "asof", "left"]
    burst = [{"joinType": joins[i % 4], "usersTopic": pairs["abc"[i % 3]][0]} for i in range(30)]
    records.send(app.config.control.topic, burst)
    settled = [app.verdict((0, last + 1 + i))["result"] for i in range(30)]
    assert settled[-1] == "applied"
    assert set(settled) <= {"applied", "unchanged", "superseded"}
    assert wiring(app.status) == (pairs["abc"[29 % 3]][0], pairs["a"][1], joins[29 % 4])
    assert len(app.rows("generations")) - before <= 3


def test_messages_before_the_start_make_one_build(
    broker: EmbeddedBroker, configured: Configured, pairs: dict[str, Pair], records: Records
) -> None:
    """A thousand of them, among them rejected ones."""
    configuration = configured()
    topic = configuration.control.topic
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    joins = ("inner", "bogus", "left")
    messages = [{"usersTopic": pairs["abc"[i % 3]][0], "joinType": joins[i % 3]} for i in range(999)]
    records.send(topic, [*messages, {"joinType": "natural"}])
    with App(configuration) as app:
        status = app.wait_live()
        assert (status["generation"], status["joinType"], status["usersTopic"]) == (1, "natural", pairs["c"][0])
        assert len(app.rows("generations")) == 1
        wait_until(lambda: len(app.rows("control_raw")) == 1_000)
        results = [row["result"] for row in app.rows("control_raw")]
        assert results.count("rejected") == 333
        assert app.verdict((0, 999))["result"] == "applied"
        assert results.count("superseded") == 666
