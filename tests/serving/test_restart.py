"""After a kill at any moment a restart has the right wiring and rows, and no leftovers."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.serving.conftest import Configured
from tests.serving.faults import changelogs, delete_topic, fresh_name, held_feeds, live_row, make_topic
from tests.serving.process import Process
from tests.serving.rig import ACCOUNTS, USERS, App, Http, Records, settings
from tests.serving.topics import Pair
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.errors import AppRunningError, FencedError


def marks(app: Http) -> tuple[set[str], int]:
    """Returns the marks of the joined table's rows, and their number."""
    rows = app.rows("final_ui")
    return {row["name"].split()[0] for row in rows}, len(rows)


def test_an_app_recovers_from_a_kill_at_any_moment(
    broker: EmbeddedBroker,
    pairs: dict[str, Pair],
    records: Records,
    new_topic: Callable[..., str],
    tmp_path: Path,
) -> None:
    """While building, warming, at the flip, and lingering; a rejected message is not applied again."""
    app = f"t{uuid.uuid4().hex[:12]}"
    configuration: dict[str, Any] = {
        "app": app,
        "kafka": {"bootstrap.servers": broker.bootstrap},
        "sources": {
            "users": {"topic": pairs["a"][0], "key": "userId", "columns": USERS},
            "accounts": {"topic": pairs["a"][1], "key": "userId", "columns": ACCOUNTS},
        },
        "engine": {"interval_s": 5},
        "swap": {"linger_s": 30},
        "server": {"port": 0},
    }
    own = (new_topic(2), new_topic(2))  # not shared, as a record is added
    records.fill(own, "c", 30, 60)
    with Process(configuration, tmp_path) as first:
        first.wait_live()
        assert marks(first) == ({"a"}, 20)
        assert first.verdict(first.control({"usersTopic": "missing"}))["result"] == "rejected"
        first.control({"usersTopic": pairs["b"][0], "accountsTopic": pairs["b"][1]})
        wait_until(lambda: first.printed("Building generation 2"))
        first.kill()
    with Process(configuration, tmp_path) as second:
        assert second.wait_live()["usersTopic"] == pairs["b"][0]
        assert marks(second) == ({"b"}, 40)
        results = [row["result"] for row in second.rows("control_raw")]
        assert results == ["rejected", "applied"]
        assert not second.printed("rejected:")
        second.control({"usersTopic": own[0], "accountsTopic": own[1]})
        wait_until(lambda: second.printed("Building generation"))
        wait_until(lambda: "warming" in second.status["message"] or second.printed("published after"))
        second.kill()
    with Process(configuration, tmp_path) as third:
        assert third.wait_live()["usersTopic"] == own[0]
        assert marks(third) == ({"c"}, 60)
        third.control({"joinType": "natural"})
        wait_until(lambda: third.printed("published after") and third.printed("natural"))
        wait_until(lambda: third.status["joinType"] == "natural")
        third.kill()
    records.send(own[0], [{"userId": "late", "name": "c late", "age": 1}])
    with Process(configuration, tmp_path) as fourth:
        status = fourth.wait_live()
        assert (status["usersTopic"], status["joinType"]) == (own[0], "natural")
        wait_until(lambda: marks(fourth) == ({"c"}, 31), lambda: f"{marks(fourth)} {fourth.status}")
        assert fourth.printed(f"Resuming generation {status['generation']}")
        changelog = f"evertable.{app}.g{status['generation']:06d}"
        wait_until(lambda: changelogs(broker.bootstrap, app) == [changelog])
        checkpoints = tmp_path / "evertable" / "checkpoints" / app
        assert [path.name for path in checkpoints.iterdir()] == [f"g{status['generation']:06d}"]
        assert fourth.end() == 0
        assert fourth.lines[-1] == "Stopped."


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_around_the_flip_resumes_the_new_generation(
    broker: EmbeddedBroker, pairs: dict[str, Pair], tmp_path: Path, moment: str
) -> None:
    """The state is written before the flip, so the new generation counts as live right before it, too."""
    app = fresh_name("k")
    configuration = settings(broker.bootstrap, app, pairs["a"], tmp_path, swap={"linger_s": 60})
    with Process(configuration, tmp_path, ("-m", "tests.serving.dying", moment, "2")) as first:
        first.wait_live()
        first.control({"usersTopic": pairs["b"][0], "accountsTopic": pairs["b"][1]})
        assert first.wait() == -signal.SIGKILL
        assert not first.printed("Generation 2 published")
    with Process(configuration, tmp_path) as second:
        status = second.wait_live()
        assert (status["generation"], status["usersTopic"], status["accountsTopic"]) == (2, *pairs["b"])
        assert second.printed("Resuming generation 2")
        assert marks(second) == ({"b"}, 40)
        assert second.publication == 3  # number 2 was used, whether anybody saw it or not
        assert [row["result"] for row in second.rows("control_raw")] == ["applied"]
        states = [(row["state"], row["reason"]) for row in second.rows("generations", sort="generation")]
        assert states == [("retired", "not resumed by the next start"), ("live", "")]
        wait_until(lambda: changelogs(broker.bootstrap, app) == [f"evertable.{app}.g000002"])
        assert [path.name for path in (tmp_path / "checkpoints" / app).iterdir()] == ["g000002"]
        rollback = second.http.post("/api/rollback").json()
        assert second.verdict((rollback["partition"], rollback["offset"]))["result"] == "applied"
        assert second.status["usersTopic"] == pairs["a"][0]
        assert second.end() == 0


def test_a_restart_resumes_the_live_generation(configured: Configured) -> None:
    """Publications and history continue."""
    configuration = configured()
    with App(configuration) as app:
        app.wait_live()
        app.verdict(app.control({"joinType": "inner"}))
        before, rows, publication = app.status, sorted(map(str, app.rows("final_ui"))), app.publication
    with App(configuration) as again:
        early = again.http.post("/api/rollback")
        assert (early.status_code, early.json()["condition"]) == (503, "NOT_READY")  # before the state was read
        after = again.wait_live()
        assert {**after, "lastApplied": None} == {**before, "lastApplied": None}
        assert sorted(map(str, again.rows("final_ui"))) == rows
        assert again.publication == publication + 1
        assert f"Resuming generation {before['generation']}" in " ".join(again.logs)
        assert [row["result"] for row in again.rows("control_raw")] == ["applied"]
        assert {row["state"] for row in again.rows("generations")} == {"retired", "live"}
        assert again.http.post("/api/rollback").status_code == 202
        again.wait_for(lambda status: status["joinType"] == "left", "the rollback")


def test_a_stop_while_resuming_loses_nothing(configured: Configured) -> None:
    """The next start resumes the same query, with all rows."""
    config = configured()
    with App(config) as first:
        first.wait_live()
        before = live_row(first)
    with held_feeds(), App(config) as second:
        second.wait_for(lambda status: "warming" in status.get("message", ""), "warming")
    with App(config) as third:
        third.wait_live()
        assert (live_row(third)["generation"], live_row(third)["queryId"]) == (before["generation"], before["queryId"])
        assert marks(third) == ({"a"}, 20)


def test_a_recreated_control_topic_is_read_from_the_beginning(broker: EmbeddedBroker, configured: Configured) -> None:
    """It holds more messages than were read of the deleted one."""
    configuration = configured()
    with App(configuration) as app:
        app.wait_live()
        assert app.verdict(app.control({"joinType": "inner"}))["result"] == "applied"
    topic = configuration.control.topic
    delete_topic(broker.bootstrap, topic)
    make_topic(broker.bootstrap, topic, 1)
    Records(broker.bootstrap).send(topic, [{"joinType": "natural"}, {"joinType": "outer"}])
    with App(configuration) as again:
        assert again.wait_live()["joinType"] == "natural"
        assert f"The control topic '{topic}' was recreated; reading it from the beginning" in again.logs
        assert [again.verdict((0, offset))["result"] for offset in range(2)] == ["applied", "rejected"]
        states = [(row["state"], row["reason"]) for row in again.rows("generations", sort="generation")]
        assert states[1:] == [("retired", "not resumed by the next start"), ("live", "")]


def test_a_second_process_is_refused_unless_it_takes_over(configured: Configured) -> None:
    """Either way the rows stay the same."""
    configuration = configured()
    with App(configuration) as older:
        older.wait_live()
        rows = sorted(map(str, older.rows("final_ui")))
        with App(configuration) as refused:
            wait_until(lambda: not refused.running, "the refusal")
            assert isinstance(refused.failure, AppRunningError)
            assert older.url in str(refused.failure)
        assert older.status["state"] == "live"
        assert sorted(map(str, older.rows("final_ui"))) == rows
        with App(configuration, take_over=True) as younger:
            wait_until(lambda: not older.running, "the older one's end")
            assert isinstance(older.failure, FencedError)
            assert "took over the app" in str(older.failure)
            younger.wait_live()
            assert sorted(map(str, younger.rows("final_ui"))) == rows
            younger.verdict(younger.control({"joinType": "natural"}))
            assert younger.status["joinType"] == "natural"
