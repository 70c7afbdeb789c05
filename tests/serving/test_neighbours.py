"""Messages for other apps, and topics of other configurations, do not affect an app."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.serving.conftest import Configured
from tests.serving.faults import fresh_name, make_topic
from tests.serving.rig import ACCOUNTS, USERS, App, Records
from tests.serving.topics import Pair

from evertable.broker import EmbeddedBroker
from evertable.state.control_start import FORMER_DEFAULT


def rewrite_as_an_earlier_version(bootstrap: str, app: str) -> None:
    """Removes from the state what earlier versions did not write: names of control topic and sources."""
    topic = f"evertable.{app}.state"
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "t", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    newest: dict[str, bytes | None] = {}
    while message := consumer.poll(5):
        newest[(message.key() or b"").decode()] = message.value()
    consumer.close()
    producer = Producer({"bootstrap.servers": bootstrap})
    for key, value in newest.items():
        record = json.loads(value) if value else {}
        if key == "live":
            for side in ("left", "right"):
                del record["identity"][side]["name"]
        elif key.startswith("control/"):
            del record["topic"]
        else:
            continue
        producer.produce(topic, json.dumps(record), key, partition=0)
    producer.flush()


def test_a_new_app_ignores_old_messages_of_a_shared_control_topic(
    broker: EmbeddedBroker, configured: Configured, records: Records
) -> None:
    """It applies those sent after its first start, also while it is down."""
    topic = fresh_name("shared")
    make_topic(broker.bootstrap, topic, 1)
    records.send(topic, [{"usersTopic": "another-apps", "joinType": "inner"}])
    configuration = configured(control={"topic": topic})
    with App(configuration) as app:
        assert app.wait_live()["joinType"] == "left"
        assert app.rows("control_raw") == []
        assert any(f"The control topic '{topic}' is read from its end" in line for line in app.logs)
    records.send(topic, [{"joinType": "natural"}])
    with App(configuration) as again:
        assert again.wait_live()["joinType"] == "natural"
        assert again.verdict((0, 1))["result"] == "applied"
        assert again.verdict(again.control({"joinType": "inner"}))["result"] == "applied"


def test_unread_messages_of_the_former_control_topic_are_moved_at_an_upgrade(
    broker: EmbeddedBroker, configured: Configured, pairs: dict[str, Pair], records: Records
) -> None:
    """This happens once, and the log names both topics; later messages there are ignored."""
    configuration = configured(control={"topic": FORMER_DEFAULT})
    with App(configuration) as app:
        app.wait_live()
        assert app.verdict(app.control({"joinType": "inner"}))["result"] == "applied"
        assert app.verdict(app.control({"usersTopic": pairs["b"][0]}))["result"] == "applied"
    rewrite_as_an_earlier_version(broker.bootstrap, configuration.app)
    records.send(FORMER_DEFAULT, [b"?", {"joinType": "natural"}])
    own = f"evertable.{configuration.app}.control"
    upgraded = configured(app=configuration.app)
    with App(upgraded) as again:
        status = again.wait_live()
        assert (status["joinType"], status["usersTopic"]) == ("natural", pairs["b"][0])
        assert [again.verdict((0, offset))["result"] for offset in (0, 1)] == ["rejected", "applied"]
        assert len(again.rows("control_raw")) == 2  # the verdicts of the former topic have the same offsets
        assert (
            f"The control topic is now '{own}'; it was '{FORMER_DEFAULT}', which all apps shared. 2 unread messages "
            f"were copied. Send control messages to '{own}', or set control.topic to "
            f"'{FORMER_DEFAULT}'." in again.logs
        )
    records.send(FORMER_DEFAULT, [{"joinType": "left"}])
    with App(upgraded) as third:
        assert third.wait_live()["joinType"] == "natural"
        assert not any(FORMER_DEFAULT in line for line in third.logs)
        assert len(third.rows("control_raw")) == 2
        assert third.verdict(third.control({"joinType": "inner"}))["result"] == "applied"


def test_the_configuration_wins_over_the_remembered_topics_of_other_sources(
    configured: Configured, pairs: dict[str, Pair], new_topic: Callable[..., str], records: Records
) -> None:
    """This includes a rollback; a restart with the same file continues as usual."""
    before = configured()
    with App(before) as app:
        app.wait_live()
        app.verdict(app.control({"usersTopic": pairs["b"][0], "accountsTopic": pairs["b"][1]}))
    topics = (new_topic(1), new_topic(1))
    records.fill(topics, "o", 3, 3)
    sources = {
        "orders": {"topic": topics[0], "key": "userId", "columns": USERS},
        "payments": {"topic": topics[1], "key": "userId", "columns": ACCOUNTS},
    }
    after = configured(app=before.app, sources=sources)
    with App(after) as other:
        status = other.wait_live()
        assert (status["ordersTopic"], status["paymentsTopic"]) == topics
        assert {row["name"].split()[0] for row in other.rows("final_ui")} == {"o"}
        dropped = "the remembered wiring is dropped, and that of the configuration is used"
        assert any("'orders' and 'payments'" in line and dropped in line for line in other.logs)
        assert other.http.post("/api/rollback").json()["condition"] == "NOTHING_BEFORE"
        assert other.verdict(other.control({"joinType": "inner"}))["result"] == "applied"
    with App(after) as again:
        assert again.wait_live()["joinType"] == "inner"
        assert not any("is dropped" in line for line in again.logs)


def test_apps_of_one_name_on_different_kafkas_have_separate_checkpoints(configured: Configured, tmp_path: Path) -> None:
    """Another prefix has the same effect as another Kafka."""
    configuration = configured()
    folder = tmp_path / "checkpoints"
    with App(configuration) as app:
        app.wait_live()
        with App(configured(app=configuration.app, changelog={"prefix": "other"})) as other:
            other.wait_live()
            assert (folder / configuration.app / "g000001").is_dir()
            [beside] = folder.glob(f"{configuration.app}@*/g000001")
            assert any(f"Checkpoints are kept in '{beside.parent}'" in line for line in other.logs)
        assert app.verdict(app.control({"joinType": "inner"}))["result"] == "applied"
    with App(configuration) as again:
        assert again.wait_live()["generation"] == 2


def test_a_forgotten_app_leaves_nothing_but_its_sources(
    broker: EmbeddedBroker, configured: Configured, pairs: dict[str, Pair], tmp_path: Path
) -> None:
    """A running app is not forgotten; afterwards the next start is a first one."""
    configuration = configured()

    def forget() -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", "from evertable.cli import main; main()"]
        command = [*program, "forget", configuration.app, "--yes", "--kafka", broker.bootstrap]
        env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)

    def topics() -> set[str]:
        return set(AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(timeout=30).topics)

    with App(configuration, folder=tmp_path / "evertable") as app:
        app.wait_live()
        assert app.verdict(app.control({"joinType": "inner"}))["result"] == "applied"
        refused = forget()
        assert refused.stderr.startswith(f"[APP_RUNNING] The app '{configuration.app}' is running")
        assert app.url in refused.stderr
    before = topics()
    done = forget()
    assert (done.returncode, done.stderr) == (0, "")
    own = f"evertable.{configuration.app}"
    assert before - topics() == {f"{own}.control", f"{own}.g000002", f"{own}.state"}
    assert set(pairs["a"]) <= topics()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    with App(configuration, folder=tmp_path / "evertable") as again:
        status = again.wait_live()
        assert (status["generation"], status["joinType"]) == (1, "left")
