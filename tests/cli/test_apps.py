"""``evertable apps`` and ``evertable forget`` against a real broker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic
from tests.generations.cases import identity
from tests.waiting import wait_until
from typer.testing import CliRunner

from evertable.broker import EmbeddedBroker
from evertable.cli.app import build_app
from evertable.config import JoinType, KafkaProperties
from evertable.generations.checkpoint_folders import name_beside
from evertable.schema.wiring import Wiring
from evertable.state.apps import topics_by_app
from evertable.state.records import ControlOffset, LiveRecord
from evertable.state.state_topic import StateTopic

EVERTABLE = Path(sys.executable).with_name("evertable")


class Apps:
    """Creates apps under a new prefix, with topics and files like those of ``evertable serve``."""

    def __init__(self, bootstrap: str, folder: Path, sources: tuple[str, str]) -> None:
        self.bootstrap, self.folder, self.sources = bootstrap, folder, sources
        self.prefix = f"p{uuid.uuid4().hex[:8]}"
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def topic(self, name: str) -> str:
        self.admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
        return name

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=30).topics)

    def create(self, app: str, control: str = "") -> None:
        """Creates everything that an app with two generations owns."""
        for number in (1, 2):
            (self.checkpoints(app) / f"g{number:06d}" / "offsets").mkdir(parents=True)
        log = self.folder / "evertable" / app / "spark.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        changelog = self.topic(f"{self.prefix}.{app}.g000002")
        control = control or self.topic(f"{self.prefix}.{app}.control")
        with closing(self.state(app)) as state:
            state.open()
            checkpoint = str(self.checkpoints(app) / "g000002")
            wiring = Wiring(*self.sources, JoinType.LEFT)
            state.write(LiveRecord(2, wiring, identity(), changelog, 1, checkpoint, "", ""))
            state.write(ControlOffset(0, 3, "id", control))

    def state(self, app: str) -> StateTopic:
        return StateTopic(
            KafkaProperties.of({"bootstrap.servers": self.bootstrap}), self.prefix, app, address="http://h"
        )

    def checkpoints(self, app: str) -> Path:
        return self.folder / "evertable" / "checkpoints" / app

    def own(self, app: str) -> set[str]:
        return set(topics_by_app(self.topics(), self.prefix).get(app, ()))

    @contextmanager
    def running(self, app: str) -> Iterator[StateTopic]:
        """Runs an owner that sends heartbeats."""
        ended = threading.Event()
        with closing(self.state(app)) as state:
            state.open()

            def beat() -> None:
                while not ended.wait(0.2):
                    state.heartbeat()

            thread = threading.Thread(target=beat)
            thread.start()
            try:
                yield state
            finally:
                ended.set()
                thread.join()

    def run(self, *arguments: str, answer: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(EVERTABLE), *arguments, "--kafka", self.bootstrap, "--prefix", self.prefix]
        env = {**os.environ, "XDG_STATE_HOME": str(self.folder)}
        return subprocess.run(command, input=answer, capture_output=True, text=True, env=env, timeout=120, check=False)


@pytest.fixture
def apps(broker: EmbeddedBroker, tmp_path: Path, new_topic: Callable[..., str]) -> Apps:
    return Apps(broker.bootstrap, tmp_path, (new_topic(), new_topic()))


def test_topics_by_app() -> None:
    """The app is the part before the last dot; a control topic alone is not an app."""
    names = [
        *("e.demo.state", "e.demo.g000001", "e.demo.control", "e.demo.x.state", "e.demo2.g1000000", "e.state.state"),
        *("e.demo.g1", "e.demo.other", "e.alone.control", "f.demo.state", "exdemo.state", "e.demo", "e..state"),
    ]
    assert topics_by_app(names, "e") == {
        "demo": ("e.demo.control", "e.demo.g000001", "e.demo.state"),
        "demo.x": ("e.demo.x.state",),
        "demo2": ("e.demo2.g1000000",),
        "state": ("e.state.state",),
    }


def test_apps_are_listed_with_their_owners(apps: Apps) -> None:
    assert apps.run("apps").stdout == (
        f"No app has topics with the prefix '{apps.prefix}.' on Kafka at {apps.bootstrap}.\n"
    )
    apps.create("demo")
    apps.create("demo.x")
    with apps.running("demo.x") as owner:
        output = apps.run("apps").stdout
    demo, other = output.split("demo.x\n", 1) if output.startswith("demo\n") else ("", "")
    left, right = apps.sources
    assert f"generation 2: {left}, left join with {right}" in demo
    assert "not running" in demo
    prefix = apps.prefix
    assert f"{prefix}.demo.control, {prefix}.demo.g000002, {prefix}.demo.state\n" in demo
    assert str(apps.checkpoints("demo")) in demo
    assert f"running      process {os.getpid()} on {owner.owner.host}, at http://h, started" in other


def test_forgetting_one_app_keeps_the_others(apps: Apps) -> None:
    """Apps with similar names, source topics and a shared control topic stay."""
    neighbours = ("demo.x", "demo2", "checkpoints")
    for app in ("demo", *neighbours):
        apps.create(app)
    before = apps.topics()
    refused = apps.run("forget", "demo", answer="n\n")
    assert (refused.returncode, apps.topics()) == (1, before)
    own = apps.own("demo")
    assert all(f"topic {topic}\n" in refused.stdout for topic in own)
    done = apps.run("forget", "demo", answer="y\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert before - apps.topics() == own
    assert not apps.checkpoints("demo").exists()
    assert not (apps.folder / "evertable" / "demo").exists()
    for app in neighbours:
        assert len(list(apps.checkpoints(app).iterdir())) >= 2
        assert (apps.folder / "evertable" / app / "spark.log").exists()
    again = apps.run("forget", "demo", "--yes")
    assert again.stderr.startswith("[APP_NOT_FOUND] No app 'demo' has topics")
    assert "Known apps: checkpoints, demo.x, demo2." in again.stderr
    assert apps.run("forget", "checkpoints", "--yes").returncode == 0
    assert len(list(apps.checkpoints("demo2").iterdir())) == 2
    for name in (".", ".."):
        assert "APP_NOT_FOUND" in apps.run("forget", name, "--yes").stderr


def test_checkpoints_of_the_same_name_on_another_kafka_stay(apps: Apps) -> None:
    """The log stays, too; the folder that the app itself uses is deleted."""
    apps.create("demo")
    folder = apps.checkpoints("demo")
    folder.with_name("demo@owner").write_text("another")
    state = f"{apps.prefix}.demo.state"
    [described] = apps.admin.describe_topics(TopicCollection([state])).values()
    beside = folder.with_name(name_beside("demo", str(described.result(30).topic_id)))
    (beside / "g000001").mkdir(parents=True)
    done = apps.run("forget", "demo", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Kept: Folder {folder}: its owner is an app of that name on another Kafka" in done.stdout
    assert len(list(folder.iterdir())) == 2
    assert (apps.folder / "evertable" / "demo" / "spark.log").exists()
    assert (beside.exists(), apps.own("demo")) == (False, set())


def test_a_failed_deletion_can_be_repeated(apps: Apps, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start in between finds no changelog, and so does not go on from a checkpoint that is half deleted."""
    apps.create("demo")
    monkeypatch.setenv("XDG_STATE_HOME", str(apps.folder))

    def fail(path: Path) -> None:
        raise OSError(f"{path} is busy")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", fail)
        where = ["--kafka", apps.bootstrap, "--prefix", apps.prefix]
        assert "is busy" in str(CliRunner().invoke(build_app(), ["forget", "demo", "--yes", *where]).exception)
    assert apps.own("demo") == {f"{apps.prefix}.demo.state"}
    assert apps.run("forget", "demo", "--yes").returncode == 0
    assert apps.own("demo") == set()
    assert not apps.checkpoints("demo").exists()


def test_a_shared_control_topic_stays(apps: Apps) -> None:
    """This holds for the default control topic of the deleted app and for a configured one."""
    apps.create("demo")
    shared = f"{apps.prefix}.demo.control"
    apps.create("guest", control=shared)
    output = apps.run("forget", "guest", "--yes").stdout
    assert f"Kept: Topic {shared}: a control topic that other apps may read." in output
    apps.create("guest2", control=shared)
    output = apps.run("forget", "demo", "--yes").stdout
    assert f"Kept: Topic {shared}: the app 'guest2' reads it." in output
    assert shared in apps.topics()
    assert apps.own("demo") == set()


def test_a_running_app_is_not_forgotten(apps: Apps) -> None:
    """The error names the owner; an app whose owner was killed can be deleted."""
    apps.create("demo")
    before = apps.topics()
    with apps.running("demo") as owner:
        refused = apps.run("forget", "demo", "--yes")
        assert refused.stderr.startswith(f"[APP_RUNNING] The app 'demo' is running: {owner.owner}. Stop it first")
    assert (refused.returncode, apps.topics()) == (1, before)
    assert apps.checkpoints("demo").exists()
    killed = apps.state("demo")
    killed.open()
    assert apps.run("forget", "demo", "--yes").returncode == 0
    wait_until(lambda: apps.own("demo") == set())
