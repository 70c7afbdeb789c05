"""``evertable broker``: prints its address, stops on signals, keeps its records."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from evertable.broker import EmbeddedBroker

EVERTABLE = Path(sys.executable).with_name("evertable")


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Starts the command, and waits for the address that it prints."""
    command = [str(EVERTABLE), "broker", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "Starting Kafka …\n"
            listening = re.match(r"Kafka listens on (\S+); records in ", process.stdout.readline())
            assert listening is not None
            yield process, listening.group(1)
        finally:
            process.kill()


def test_topics_survive_and_both_signals_stop_it_cleanly(tmp_path: Path) -> None:
    where = ["--port", "0", "--data-dir", str(tmp_path / "data")]
    with running(*where) as (process, bootstrap):
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(30)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stdout is not None
        assert process.stdout.read().splitlines()[1:] == ["Stopping …", "Stopped."]
    with running(*where) as (process, bootstrap):
        assert "kept" in AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=30).topics
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_port_in_use_is_one_line_on_standard_error(broker: EmbeddedBroker, tmp_path: Path) -> None:
    port = broker.bootstrap.split(":")[1]
    command = [str(EVERTABLE), "broker", "--port", port, "--data-dir", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        f"[PORT_IN_USE] Port {port} is in use on 127.0.0.1. Stop what listens there, or choose another port "
        "for Kafka (0 takes a free one).\n"
    )


@pytest.mark.parametrize("wrong", [["--port", "70000"], ["--port", "x"]])
def test_an_impossible_port_is_refused(wrong: list[str]) -> None:
    done = subprocess.run([EVERTABLE, "broker", *wrong], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--port" in done.stderr
