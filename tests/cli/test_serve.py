"""``evertable serve`` reports why it cannot start, and leaves no process."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from tests.cli.terminal import EVERTABLE
from tests.serving.rig import App, config
from tests.waiting import wait_until

from evertable.errors import JavaNotFoundError

EXAMPLE = Path(__file__).parents[2] / "examples" / "evertable.yaml"


def serve(folder: Path, **environment: str) -> tuple[int, str, str]:
    env = {**os.environ, "KAFKA": "127.0.0.1:1", "XDG_STATE_HOME": str(folder), **environment}
    done = subprocess.run([EVERTABLE, "serve", str(EXAMPLE)], check=False, capture_output=True, text=True, env=env)
    return done.returncode, done.stdout, done.stderr


def test_without_java_nothing_is_started(tmp_path: Path) -> None:
    """A missing Java is an error even while Kafka is unreachable."""
    code, output, errors = serve(tmp_path, JAVA_HOME=str(tmp_path / "nowhere"), EVERTABLE_SERVER__PORT="0")
    assert (code, output) == (1, "")
    assert errors == (
        f"[JAVA_NOT_FOUND] JAVA_HOME is {tmp_path}/nowhere, but there is no bin/java in it. Correct or unset it.\n"
    )


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, output, errors = serve(tmp_path, EVERTABLE_SERVER__PORT=str(port))
    assert (code, output) == (1, "")
    assert errors == (
        f"[PORT_IN_USE] Port {port} is in use on 127.0.0.1. Stop what uses it, or choose another port "
        "(server.port or EVERTABLE_SERVER__PORT; 0 takes any).\n"
    )


def test_a_missing_java_is_reported_while_kafka_is_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error ends the wait for Kafka."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with App(config("127.0.0.1:1", "alone", ("u", "a"), tmp_path), folder=tmp_path) as app:
        wait_until(lambda: not app.running)
    assert isinstance(app.failure, JavaNotFoundError)
