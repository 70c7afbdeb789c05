"""Child processes inherit what they need, and no secrets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.processes import children
from tests.waiting import wait_until

from evertable.broker.process import SupervisedProcess
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.install.environment import child_environment

SECRETS = {
    "EVERTABLE_TOKEN": "token-of-the-server",
    "EVERTABLE_KAFKA__SASL_PASSWORD": "kafka-secret-1",
    "KAFKA_PASSWORD": "kafka-secret-2",
    "AWS_SECRET_ACCESS_KEY": "cloud-secret",
}


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "LC_TIME": "C", "SPARK_LOCAL_IP": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)


def environment_of(pid: int) -> dict[str, str]:
    """A running process's variables; none until it has started its program."""
    lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_what_is_passed_on() -> None:
    """Children get the variables they need, those that are named, and those that the caller sets."""
    passed = child_environment(("AWS_*", "NOTHING"), LC_TIME="other", OWN="1")
    assert {name for name in SECRETS if name in passed} == {"AWS_SECRET_ACCESS_KEY"}
    assert (passed["PATH"], passed["LC_TIME"], passed["OWN"]) == (os.environ["PATH"], "other", "1")
    assert "NOTHING" not in passed


def test_the_engine_and_its_jvm(tmp_path: Path) -> None:
    """Neither Spark nor the process that runs it sees a secret, except for those that are meant for it."""
    settings = EngineSettings(log=tmp_path / "log", environment=("AWS_*",))
    with Engine(settings) as engine:
        assert engine.pid is not None
        [jvm] = children(engine.pid)
        for pid in (engine.pid, jvm):
            seen = environment_of(pid)
            assert {name for name in SECRETS if name in seen} == {"AWS_SECRET_ACCESS_KEY"}
            assert [secret for secret in ("kafka-secret", "token-of") if secret in str(seen)] == []
            assert (seen["SPARK_LOCAL_IP"], seen["LC_TIME"]) == ("127.0.0.1", "C")


def test_the_embedded_broker(tmp_path: Path) -> None:
    """Its supervisor inherits nothing either."""
    output = tmp_path / "out"
    program = "import os; print(sorted(os.environ), flush=True); import signal; signal.pause()"
    process = SupervisedProcess([sys.executable, "-c", program], output, None, ())
    try:
        wait_until(lambda: output.read_text().endswith("]\n"))
        for name in SECRETS:
            assert name not in output.read_text()
            assert name not in environment_of(process._supervisor.pid)
    finally:
        process.kill()
