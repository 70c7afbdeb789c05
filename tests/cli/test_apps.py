"""``evertable apps`` and ``evertable forget`` against a real broker: one app goes, its neighbours stay."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


class Neighbourhood:
    """Apps under a prefix of their own, with topics and files as ``evertable serve`` leaves them."""

    def __init__(self, bootstrap: str, folder: Path, sources: tuple[str, str]) -> None:
        self.bootstrap, self.folder, self.sources = bootstrap, folder, sources
        self.prefix = f"p{uuid.uuid4().hex[:8]}"
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def topic(self, name: str) -> str:
        self.admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
        return name

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=30).topics)

    def settle(self, app: str, control: str = "") -> None:
        """Makes all that an app of two generations owns, and leaves."""
        for number in (1, 2):
            (self.checkpoints(app) / f"g{number:06d}" / "offsets").mkdir(parents=True)
        log = self.folder / "evertable" / app / "spark.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        changelog = self.topic(f"{self.prefix}.{app}.g000002")
        control = control or self.topic(f"{self.prefix}.{app}.control")
        with self.state(app) as state:
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
        """An owner that shows signs of life."""
        ended = threading.Event()
        with self.state(app) as state:

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
def neighbourhood(broker: EmbeddedBroker, tmp_path: Path, new_topic: Callable[..., str]) -> Neighbourhood:
    return Neighbourhood(broker.bootstrap, tmp_path, (new_topic(), new_topic()))


def test_topics_belong_to_the_app_before_their_last_dot() -> None:
    """Names that begin alike never mix, and a control topic alone is no app."""
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


def test_apps_are_listed_with_who_runs_them(neighbourhood: Neighbourhood) -> None:
    assert neighbourhood.run("apps").stdout == (
        f"No app has topics that begin with '{neighbourhood.prefix}.' on Kafka at {neighbourhood.bootstrap}.\n"
    )
    neighbourhood.settle("demo")
    neighbourhood.settle("demo.x")
    with neighbourhood.running("demo.x") as owner:
        told = neighbourhood.run("apps").stdout
    demo, other = told.split("demo.x\n", 1) if told.startswith("demo\n") else ("", "")
    left, right = neighbourhood.sources
    assert f"generation 2: {left}, left join with {right}" in demo
    assert "not running" in demo
    prefix = neighbourhood.prefix
    assert f"{prefix}.demo.control, {prefix}.demo.g000002, {prefix}.demo.state\n" in demo
    assert str(neighbourhood.checkpoints("demo")) in demo
    assert f"running      process {os.getpid()} on {owner.owner.host}, at http://h, started" in other


def test_forgetting_one_app_leaves_its_neighbours_alone(neighbourhood: Neighbourhood) -> None:
    """Names that begin alike, the sources, and a shared control topic stay."""
    neighbours = ("demo.x", "demo2", "checkpoints")
    for app in ("demo", *neighbours):
        neighbourhood.settle(app)
    before = neighbourhood.topics()
    refused = neighbourhood.run("forget", "demo", answer="n\n")
    assert (refused.returncode, neighbourhood.topics()) == (1, before)
    own = neighbourhood.own("demo")
    assert all(f"topic {topic}\n" in refused.stdout for topic in own)
    done = neighbourhood.run("forget", "demo", answer="y\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert before - neighbourhood.topics() == own
    assert not neighbourhood.checkpoints("demo").exists()
    assert not (neighbourhood.folder / "evertable" / "demo").exists()
    for app in neighbours:
        assert len(list(neighbourhood.checkpoints(app).iterdir())) >= 2
        assert (neighbourhood.folder / "evertable" / app / "spark.log").exists()
    again = neighbourhood.run("forget", "demo", "--yes")
    assert again.stderr.startswith("[APP_NOT_FOUND] No app 'demo' has topics")
    assert "Known are checkpoints, demo.x, demo2." in again.stderr
    assert neighbourhood.run("forget", "checkpoints", "--yes").returncode == 0
    assert len(list(neighbourhood.checkpoints("demo2").iterdir())) == 2
    for name in (".", ".."):
        assert "APP_NOT_FOUND" in neighbourhood.run("forget", name, "--yes").stderr


def test_checkpoints_of_the_same_name_on_another_kafka_stay(neighbourhood: Neighbourhood) -> None:
    """And so does the log; what the app keeps beside them goes."""
    neighbourhood.settle("demo")
    folder = neighbourhood.checkpoints("demo")
    folder.with_name("demo@owner").write_text("another")
    state = f"{neighbourhood.prefix}.demo.state"
    [described] = neighbourhood.admin.describe_topics(TopicCollection([state])).values()
    beside = folder.with_name(name_beside("demo", str(described.result(30).topic_id)))
    (beside / "g000001").mkdir(parents=True)
    done = neighbourhood.run("forget", "demo", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Kept: Folder {folder}: its owner is an app of that name on another Kafka" in done.stdout
    assert len(list(folder.iterdir())) == 2
    assert (neighbourhood.folder / "evertable" / "demo" / "spark.log").exists()
    assert (beside.exists(), neighbourhood.own("demo")) == (False, set())


def test_a_forgetting_that_fails_can_be_repeated(neighbourhood: Neighbourhood, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start in between finds no changelog, and so does not go on from a checkpoint that is half deleted."""
    neighbourhood.settle("demo")
    monkeypatch.setenv("XDG_STATE_HOME", str(neighbourhood.folder))

    def fail(path: Path) -> None:
        raise OSError(f"{path} is busy")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", fail)
        where = ["--kafka", neighbourhood.bootstrap, "--prefix", neighbourhood.prefix]
        assert "is busy" in str(CliRunner().invoke(build_app(), ["forget", "demo", "--yes", *where]).exception)
    assert neighbourhood.own("demo") == {f"{neighbourhood.prefix}.demo.state"}
    assert neighbourhood.run("forget", "demo", "--yes").returncode == 0
    assert neighbourhood.own("demo") == set()
    assert not neighbourhood.checkpoints("demo").exists()


def test_a_control_topic_that_another_app_reads_stays(neighbourhood: Neighbourhood) -> None:
    """Whether it is the forgotten app's own, or one that both were given."""
    neighbourhood.settle("demo")
    shared = f"{neighbourhood.prefix}.demo.control"
    neighbourhood.settle("guest", control=shared)
    told = neighbourhood.run("forget", "guest", "--yes").stdout
    assert f"Kept: Topic {shared}: a control topic that other apps may read." in told
    neighbourhood.settle("guest2", control=shared)
    told = neighbourhood.run("forget", "demo", "--yes").stdout
    assert f"Kept: Topic {shared}: the app 'guest2' reads it." in told
    assert shared in neighbourhood.topics()
    assert neighbourhood.own("demo") == set()


def test_a_running_app_is_not_forgotten(neighbourhood: Neighbourhood) -> None:
    """The error says who runs it; one that was killed can be forgotten."""
    neighbourhood.settle("demo")
    before = neighbourhood.topics()
    with neighbourhood.running("demo") as owner:
        refused = neighbourhood.run("forget", "demo", "--yes")
        assert refused.stderr.startswith(f"[APP_RUNNING] The app 'demo' is running: {owner.owner}. Stop it first")
    assert (refused.returncode, neighbourhood.topics()) == (1, before)
    assert neighbourhood.checkpoints("demo").exists()
    killed = neighbourhood.state("demo")
    killed.open()
    assert neighbourhood.run("forget", "demo", "--yes").returncode == 0
    wait_until(lambda: neighbourhood.own("demo") == set())
