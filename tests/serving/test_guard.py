"""A swap to a topic without usable records is held; viewers keep what they see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.serving.rig import App, Records, config
from tests.serving.topics import Pair
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker

NOT_USERS: dict[str, tuple[dict[str, Any], str]] = {
    "all rejected": ({"userId": "u1", "name": "Ada", "age": "young"}, "were rejected, the latest because: WRONG_TYPE"),
    "no keys": ({"id": "u1", "name": "Ada", "age": 1}, "has a value for the key 'userId'"),
    "no values": ({"userId": "u1", "title": "Dr"}, "has a value in any column besides the key 'userId'"),
}


@pytest.fixture(scope="module")
def app(broker: EmbeddedBroker, pairs: dict[str, Pair], tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("guard")
    with App(config(broker.bootstrap, "guard-tests", pairs["a"], folder, swap={"linger_s": 1})) as running:
        running.wait_live()
        yield running


def review(app: App) -> dict[str, Any]:
    found: dict[str, Any] = app.http.get("/api/status").json()["review"]
    return found


@pytest.mark.parametrize("case", NOT_USERS)
def test_a_topic_without_usable_records_is_held_until_forced(
    app: App, pairs: dict[str, Pair], new_topic: Callable[..., str], records: Records, case: str
) -> None:
    topic = new_topic(1)
    record, sentence = NOT_USERS[case]
    records.send(topic, [record] * 30)
    app.verdict(app.control({"usersTopic": pairs["a"][0], "accountsTopic": pairs["a"][1]}))
    before, rows = app.status, app.rows("final_ui")
    verdict = app.verdict(app.control({"usersTopic": topic}))
    assert verdict["result"] == "held"
    assert "30" in verdict["reason"]
    assert sentence in verdict["reason"]
    assert verdict["reason"].endswith('send the message again with "force": true.')
    assert app.status["generation"] == before["generation"]
    assert app.rows("final_ui") == rows
    wait_until(lambda: [row["state"] for row in app.rows("generations")].count("held") >= 1)
    found = review(app)
    assert (found["result"], found["message"]["usersTopic"]) == ("held", topic)
    users = found["sources"][0]
    assert (users["topic_before"], users["topic"], users["rows_before"]) == (pairs["a"][0], topic, 10)
    assert users["rows"] + users["rejected"] == 30
    by_column = {column["name"]: column for column in users["columns"]}
    assert by_column["age"]["rejected"] == (30 if case == "all rejected" else 0)
    assert by_column["userId"]["nulls"] == (30 if case == "no keys" else 0)
    forced = app.verdict(app.control({"usersTopic": topic, "force": True}))
    assert forced["result"] == "applied"
    assert sentence in forced["reason"]
    assert app.status["usersTopic"] == topic
    assert sentence in app.wait_for(lambda status: bool(status["message"]))["message"]
    assert app.verdict(app.control({"joinType": "inner"}))["result"] == "applied", "the topic was live already"
    assert app.verdict(app.control({"joinType": "left"}))["result"] == "applied"


def test_an_empty_topic_goes_live(app: App, pairs: dict[str, Pair], new_topic: Callable[..., str]) -> None:
    app.verdict(app.control({"usersTopic": pairs["a"][0], "accountsTopic": pairs["a"][1]}))
    verdict = app.verdict(app.control({"usersTopic": new_topic(1)}))
    assert (verdict["result"], verdict["reason"]) == ("applied", "")
    assert app.rows("users_ui") == []
    assert "review" not in app.http.get("/api/status").json(), "the review of an earlier swap is still offered"


def test_lesser_signs_are_warnings(
    app: App, pairs: dict[str, Pair], new_topic: Callable[..., str], records: Records
) -> None:
    topic = new_topic(1)
    records.send(topic, [{"userId": "nobody", "name": "Ada"}])
    app.verdict(app.control({"usersTopic": pairs["a"][0], "accountsTopic": pairs["a"][1]}))
    verdict = app.verdict(app.control({"usersTopic": topic}))
    sentences = (
        f"No row of '{topic}' (users) has a value for 'age'; rows read: 1.",
        f"'{topic}' (users) has 1 row; '{pairs['a'][0]}' had 10.",
        f"No row of '{topic}' matches any row of '{pairs['a'][1]}'.",
    )
    assert verdict["result"] == "applied"
    assert verdict["reason"] == " ".join(sentences)
    assert app.wait_for(lambda status: bool(status["message"]))["message"] == " ".join(sentences)
    wait_until(lambda: all(any(line.endswith(sentence) for line in app.logs) for sentence in sentences))
    assert review(app)["warnings"] == list(sentences)
    records.send(topic, [{"userId": "u1", "name": "Ada", "age": 1}])
    app.wait_for(lambda status: status["message"] == "", "a status without warnings, after a complete row")


def test_a_rollback_is_never_held(
    app: App, pairs: dict[str, Pair], new_topic: Callable[..., str], records: Records
) -> None:
    topic = new_topic(1)
    records.send(topic, [b"not json"] * 3)
    assert app.verdict(app.control({"usersTopic": topic, "force": True}))["result"] == "applied"
    assert app.verdict(app.control({"usersTopic": pairs["b"][0]}))["result"] == "applied"
    wait_until(lambda: "lingering" not in [row["state"] for row in app.rows("generations")])
    answer = app.http.post("/api/rollback", json={}).json()
    assert app.verdict((answer["partition"], answer["offset"]))["result"] == "applied"
    assert app.status["usersTopic"] == topic


def test_without_the_guard_nothing_is_held(
    broker: EmbeddedBroker, pairs: dict[str, Pair], new_topic: Callable[..., str], records: Records, tmp_path: Any
) -> None:
    topic = new_topic(1)
    records.send(topic, [b"not json"] * 3)
    settings = config(broker.bootstrap, "unguarded", pairs["a"], tmp_path, swap={"guard": False})
    with App(settings) as app:
        app.wait_live()
        verdict = app.verdict(app.control({"usersTopic": topic}))
        assert verdict["result"] == "applied"
        assert verdict["reason"].startswith(f"All 3 records of '{topic}' (users) were rejected")
