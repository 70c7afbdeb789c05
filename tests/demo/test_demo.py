"""``evertable demo``, installed from the wheel: its link, its commands, and a clean end."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.waiting import wait_until

from evertable.client import Client


class Demo:
    """Runs the command and records its output."""

    def __init__(self, evertable: Path, *arguments: str, temporary: Path) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [evertable, "demo", "--no-browser", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=temporary,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(temporary), "XDG_STATE_HOME": str(temporary / "state"), "NO_COLOR": "1"},
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def wait(self) -> None:
        wait_until(lambda: "Ctrl-C stops everything." in self.lines or self.process.poll() is not None, self.output)
        assert self.process.poll() is None, self.output()

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reading.join()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as printed:
            for line in printed:
                self.lines.append(line.rstrip("\n"))

    def output(self) -> str:
        return "\n".join(self.lines)

    def commands(self) -> list[list[str]]:
        """Returns the commands that the demo suggests."""
        return [shlex.split(line)[1:] for line in self.lines if line.startswith("  evertable ")]


@pytest.fixture
def demo(evertable: Path, tmp_path: Path) -> Iterator[Demo]:
    started = Demo(evertable, "--rows", "50", "--rate", "50", temporary=tmp_path)
    try:
        started.wait()
        yield started
    finally:
        started.end()


def test_the_suggested_commands(demo: Demo, evertable: Path, tmp_path: Path) -> None:
    """Each suggested command works; Ctrl-C leaves no process and no file."""
    exported = re.search(r"export EVERTABLE_URL=(\S+) EVERTABLE_TOKEN=(\S+)", demo.output())
    assert exported is not None
    url, token = exported.groups()
    assert f"Open  {url}/#token={token}" in demo.output()
    swap, join, broken = demo.commands()
    with Client(url, token) as client:
        names = client.table("users_ui")
        before = {row["name"] for row in names.page(limit=100).dicts()}
        for command in (swap, join, broken):
            run = subprocess.run(
                [evertable, *command],
                env={**os.environ, "EVERTABLE_URL": url, "EVERTABLE_TOKEN": token},
                capture_output=True,
                text=True,
                check=False,
            )
            assert run.returncode == 0, run.stderr + run.stdout
        after = {row["name"] for row in names.page(limit=100).dicts()}
        assert before
        assert after
        assert not before & after
        assert client.status()["orchestrator"]["joinType"] == "left"
        wait_until(lambda: client.table("dead_letters").page().total == 1)
        rows = client.table("accounts_ui").page(limit=0).total
        wait_until(lambda: client.table("accounts_ui").page(limit=0).total > rows)
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(60) == 0
    assert demo.lines[-1] == "Stopped."
    wait_until(lambda: not processes_of(demo.process.pid))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def processes_of(session: int) -> list[int]:
    """Returns the processes of the demo's session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                found.append(int(entry.name))
        except OSError:
            continue
    return found
