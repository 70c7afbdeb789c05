"""No control topic, eager swaps, and a start before one of the topics exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.serving.faults import fresh_name, held_feeds, make_topic, names, user
from tests.serving.rig import App, Records, config
from tests.serving.topics import Pair
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker


@pytest.fixture(scope="module")
def missing(pairs: dict[str, Pair]) -> str:
    return f"{pairs['a'][0]}x"


@pytest.fixture(scope="module")
def app(
    broker: EmbeddedBroker,
    pairs: dict[str, Pair],
    missing: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[App]:
    sections: dict[str, Any] = {"control": {"enabled": False}, "swap": {"mode": "eager", "linger_s": 1}}
    folder = tmp_path_factory.mktemp("direct")
    with App(config(broker.bootstrap, fresh_name("d"), (missing, pairs["a"][1]), folder, **sections)) as started:
        yield started


def test_a_missing_topic_is_named_and_waited_for(
    broker: EmbeddedBroker, app: App, missing: str, pairs: dict[str, Pair], records: Records
) -> None:
    """The message suggests an existing topic with a similar name."""
    missing_topic = f"TOPIC_NOT_FOUND: Kafka at {broker.bootstrap} has no topic '{missing}'."
    waiting = app.wait_for(lambda status: status.get("state") == "waiting", "the status waiting")
    suggestion = f"Did you mean '{pairs['a'][0]}'"
    assert waiting["message"].startswith(f"{missing_topic} {suggestion}")
    assert waiting["message"].endswith("Correct the name, or create the topic. Trying again.")
    assert any(line.startswith(f"Generation 1 failed: {missing_topic} {suggestion}") for line in app.logs)
    assert app.http.get("/readyz").status_code == 503
    make_topic(broker.bootstrap, missing)
    records.send(missing, [user(1), user(2)])
    app.wait_live()
    assert app.http.get("/readyz").status_code == 200
    wait_until(lambda: names(app) == {"a 1", "a 2"})
    assert "flow" in app.http.get("/api/status").json()
    refused = app.http.post("/api/rollback")
    assert (refused.status_code, refused.json()["condition"]) == (409, "NOTHING_BEFORE")


def test_a_swap_and_a_rollback_are_applied_directly(app: App, missing: str, pairs: dict[str, Pair]) -> None:
    assert app.verdict(app.control({"usersTopic": pairs["b"][0], "joinType": "inner"}))["result"] == "applied"
    status = app.status
    assert (status["usersTopic"], status["joinType"]) == (pairs["b"][0], "inner")
    wait_until(lambda: len(names(app)) == 20)
    refused = app.http.post("/api/control", json={"joinType": "outer"}).json()
    assert (refused["result"], refused["reason"].split(":")[0]) == ("rejected", "UNKNOWN_JOIN_TYPE")
    refused = app.http.post("/api/control", json={"usersTopic": f"{missing}y"}).json()
    assert refused["reason"].startswith("TOPIC_NOT_FOUND: ")
    assert f"has no topic '{missing}y'. Did you mean '{missing}'" in refused["reason"]
    rollback = app.http.post("/api/rollback").json()
    assert app.verdict((rollback["partition"], rollback["offset"]))["result"] == "applied"
    status = app.status
    assert (status["usersTopic"], status["joinType"]) == (missing, "left")
    wait_until(lambda: names(app) == {"a 1", "a 2"})


def test_an_eager_swap_is_published_before_it_is_warm(app: App, pairs: dict[str, Pair]) -> None:
    with held_feeds() as released:
        place = app.control({"usersTopic": pairs["c"][0], "accountsTopic": pairs["c"][1]})
        assert app.verdict(place)["result"] == "applied"
        assert app.status["usersTopic"] == pairs["c"][0]
        assert names(app) == set()
        released.set()
    wait_until(lambda: len(names(app)) == 30, lambda: f"30 names: {sorted(names(app))}, {app.status}")
