"""The embedded broker answers once started, keeps its data, and explains why it cannot start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.processes import is_gone
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker, folder, ports
from evertable.errors import BrokerError, PortInUseError

OWNER = """
import os, signal, sys
from evertable.broker import EmbeddedBroker
broker = EmbeddedBroker().start()
if sys.argv[1:] == ["fork"] and os.fork() == 0:  # a child that inherits all open files
    signal.pause()
print(broker.pid, broker.log_file, flush=True)
signal.pause()
"""


def write(broker: EmbeddedBroker, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0


def read(broker: EmbeddedBroker, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused", "log_level": 0})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value() for message in consumer.consume(count, timeout=30)]
    finally:
        consumer.close()


def make_topic(broker: EmbeddedBroker) -> str:
    name = f"t-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    return name


def test_a_started_broker_takes_and_gives_records(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    write(broker, topic, b"1", b"2", b"3")
    assert read(broker, topic, 3) == [b"1", b"2", b"3"]


def test_start_on_a_running_broker_changes_nothing(broker: EmbeddedBroker) -> None:
    before = (broker.pid, broker.bootstrap)
    assert broker.start() is broker
    assert (broker.pid, broker.bootstrap) == before


def test_requesting_a_topic_does_not_create_it(broker: EmbeddedBroker) -> None:
    name = f"t-{uuid.uuid4()}"
    found = AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics(name, timeout=30)
    assert found.topics[name].error is not None


def test_records_survive_a_crash_and_a_clean_stop(tmp_path: Path) -> None:
    """kill and start, then stop and start: the same port, the same records."""
    with EmbeddedBroker(data_dir=tmp_path / "a folder = with: #signs!") as broker:
        topic, bootstrap = make_topic(broker), broker.bootstrap
        write(broker, topic, b"before the crash")
        first = broker.pid
        broker.kill()
        assert (broker.running, is_gone(first)) == (False, True)
        broker.start()
        assert broker.bootstrap == bootstrap
        write(broker, topic, b"before the stop")
        second = broker.pid
        broker.stop()
        assert (broker.running, is_gone(second)) == (False, True)
        broker.start()
        assert broker.bootstrap == bootstrap
        assert read(broker, topic, 2) == [b"before the crash", b"before the stop"]


def test_a_temporary_folder_is_deleted_by_stop_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    broker = EmbeddedBroker().start()
    [home] = tmp_path.iterdir()
    topic = make_topic(broker)
    write(broker, topic, b"kept")
    os.kill(broker.pid, signal.SIGKILL)
    wait_until(lambda: not broker.running)
    with pytest.raises(BrokerError, match="The broker is not running"):
        broker.pid  # noqa: B018 - reading it is the test
    assert home.is_dir()
    broker.start()
    assert read(broker, topic, 1) == [b"kept"]
    broker.stop()
    assert list(tmp_path.iterdir()) == []


def test_a_broker_that_is_killed_and_forgotten_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    broker = EmbeddedBroker().start()
    broker.kill()
    del broker
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_port_in_use_is_named_and_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, taken_port: int
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(PortInUseError) as caught:
        EmbeddedBroker(port=taken_port).start()
    assert str(caught.value) == (
        f"[PORT_IN_USE] Port {taken_port} is in use on 127.0.0.1. Stop what listens there, or choose another port "
        "for Kafka (0 takes a free one)."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_lost_to_another_is_chosen_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, taken_port: int
) -> None:
    """Kafka cannot bind the first choice, which looked free: the broker starts on another one."""
    offered = iter([taken_port])
    choose = ports.choose

    def first_a_taken_one(host: str, *, besides: int = 0) -> int:
        return next(offered, 0) or choose(host, besides=besides)

    monkeypatch.setattr(ports, "choose", first_a_taken_one)
    monkeypatch.setattr(ports, "is_free", lambda host, port: True)
    with EmbeddedBroker(data_dir=tmp_path) as broker:
        assert broker.running
        assert broker.bootstrap != f"127.0.0.1:{taken_port}"


def test_a_data_folder_serves_one_broker_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(folder, "_LOCK_WAIT_S", 0.0)
    with EmbeddedBroker(data_dir=tmp_path) as first:
        with pytest.raises(BrokerError, match=rf"Another broker is using the data folder {tmp_path}\."):
            EmbeddedBroker(data_dir=tmp_path).start()
        assert first.running


def test_a_setting_that_kafka_refuses_is_quoted_from_its_log(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"(?s)ended while it was starting.*num\.io\.threads"):
        EmbeddedBroker(data_dir=tmp_path, properties={"num.io.threads": "none"}).start()


@pytest.mark.parametrize(("name", "problem"), [("file/data", "cannot be used: "), ("a,b", "has a comma in its path")])
def test_a_folder_that_will_not_do_is_named(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BrokerError, match=rf"The data folder .*/{name} {problem}"):
        EmbeddedBroker(data_dir=tmp_path / name).start()


@pytest.mark.parametrize("forked", [False, True], ids=["alone", "with a forked child"])
def test_the_broker_dies_with_its_owner_and_so_does_a_temporary_folder(tmp_path: Path, forked: bool) -> None:
    command = [sys.executable, "-c", OWNER, *(["fork"] if forked else [])]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True) as owner:
        assert owner.stdout is not None
        pid, log_file = owner.stdout.readline().split()
        assert Path(log_file).is_file()
        owner.kill()
        owner.wait()
        wait_until(lambda: is_gone(int(pid)) and list(tmp_path.iterdir()) == [])
        if forked:
            os.killpg(owner.pid, signal.SIGKILL)  # the forked child, in the session that was made for this test
