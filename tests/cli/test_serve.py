"""``evertable serve`` where it cannot be: what is said, and that nothing is left running."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from tests.cli.playing import EVERTABLE
from tests.serving.rig import App, config
from tests.waiting import wait_until

from evertable.errors import JavaNotFoundError

EXAMPLE = Path(__file__).parents[2] / "examples" / "evertable.yaml"


def serve(folder: Path, **environment: str) -> tuple[int, str, str]:
    env = {**os.environ, "KAFKA": "127.0.0.1:1", "XDG_STATE_HOME": str(folder), **environment}
    done = subprocess.run([EVERTABLE, "serve", str(EXAMPLE)], check=False, capture_output=True, text=True, env=env)
    return done.returncode, done.stdout, done.stderr


def test_without_java_nothing_is_started(tmp_path: Path) -> None:
    """Also while Kafka does not answer, which is waited for otherwise."""
    code, out, said = serve(tmp_path, JAVA_HOME=str(tmp_path / "nowhere"), EVERTABLE_SERVER__PORT="0")
    assert (code, out) == (1, "")
    assert said == (
        f"[JAVA_NOT_FOUND] JAVA_HOME is {tmp_path}/nowhere, but there is no bin/java in it. Correct or unset it.\n"
    )


def test_a_port_in_use_is_said_with_how_to_choose_another(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, said = serve(tmp_path, EVERTABLE_SERVER__PORT=str(port))
    assert (code, out) == (1, "")
    assert said == (
        f"[PORT_IN_USE] Port {port} is in use on 127.0.0.1. Stop what uses it, or choose another port "
        "(server.port or EVERTABLE_SERVER__PORT; 0 takes any).\n"
    )


def test_spark_that_cannot_start_is_not_hidden_by_a_kafka_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason is, it ends the wait for Kafka."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with App(config("127.0.0.1:1", "alone", ("u", "a"), tmp_path), folder=tmp_path) as app:
        wait_until(lambda: not app.running)
    assert isinstance(app.failure, JavaNotFoundError)
