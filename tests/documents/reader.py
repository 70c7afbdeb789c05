"""Types the commands of a page in an empty folder, with a real Kafka and a real Spark."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx
from tests.markdown import Step
from tests.waiting import wait_until

from evertable.broker.ports import choose

HOST = "127.0.0.1"
STAYS = re.compile(r"evertable (broker|serve|tail)\b")
"""Commands that run until Ctrl-C, each in its own terminal."""

PATIENCE_S = 240.0
"""The time for one command: on a busy machine the start of Spark alone takes more than a minute."""


@dataclass(frozen=True)
class Typed:
    """A step that was typed, its output and its exit code."""

    step: Step
    output: str
    code: int

    @property
    def is_as_shown(self) -> bool:
        """Whether the output is that of the page, and the command succeeded unless the page shows an error."""
        return self.step.matches(self.output) and (self.code == 0) is not self.step.shown.startswith("[")


class Terminal:
    """A terminal in which a command runs."""

    def __init__(self, command: str, folder: Path, environment: dict[str, str]) -> None:
        self.command = command
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as printed:
            for line in printed:
                self.lines.append(line.rstrip("\n"))

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, lines: int, text: str = "") -> None:
        """Waits for that many lines, and for one with this text."""
        wait_until(
            lambda: (len(self.lines) >= lines and text in self.output) or self._process.poll() is not None,
            lambda: f"{self.command}: {text!r}, in\n{self.output}",
            PATIENCE_S,
        )
        assert self._process.poll() is None, f"{self.command} has ended:\n{self.output}"

    def ctrl_c(self) -> int:
        """Sends Ctrl-C to everything in the terminal, kills it after a minute, and returns the exit code."""
        if self._process.poll() is not None:
            return self._process.returncode
        os.killpg(self._process.pid, signal.SIGINT)
        try:
            return self._process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            return self._process.wait()
        finally:
            self._reading.join(10)


class Reader:
    """Types one command after the other, with free ports of this machine instead of those on the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kafka = choose(HOST)
        self.port = choose(HOST, besides=self.kafka)
        self.url = f"http://{HOST}:{self.port}"
        self.typed: list[Typed] = []
        self.terminals: list[Terminal] = []
        (folder / ".venv").symlink_to(sys.prefix)  # as scripts/setup does
        own = {name: value for name, value in os.environ.items() if not name.startswith("EVERTABLE_")}
        self._environment = own | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(folder / "state"),
            "EVERTABLE_SERVER__PORT": str(self.port),
            "EVERTABLE_URL": self.url,
            "NO_COLOR": "1",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for terminal in reversed(self.terminals):
            terminal.ctrl_c()

    def here(self, text: str) -> str:
        """Replaces the addresses of a page by those of this machine."""
        for theirs, ours in (
            ("--auto-create", f"--auto-create --port {self.kafka}"),
            ("--port 9092", ""),
            ("localhost:9092", f"{HOST}:{self.kafka}"),
            ("127.0.0.1:9092", f"{HOST}:{self.kafka}"),
            ("your-machine:", f"{HOST}:"),
            ("0.0.0.0", HOST),  # noqa: S104 - replaced, as tests listen on loopback only
            (":10000", f":{self.port}"),
        ):
            text = text.replace(theirs, ours)
        return text

    def write(self, name: str, text: str) -> None:
        """Writes a file of the page."""
        (self.folder / name).write_text(self.here(text))

    def type(self, step: Step) -> None:
        """Runs a command until it ends or, if it runs until Ctrl-C, until it is ready."""
        step = Step(self.here(step.command), self.here(step.shown))
        if stays := STAYS.search(step.command):
            self.typed.append(self._leave_running(step, stays[1]))
            return
        done = subprocess.run(
            ["bash", "-c", step.command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=self._environment,
            timeout=PATIENCE_S,
            check=False,
        )
        self.typed.append(Typed(step, done.stdout, done.returncode))

    def _leave_running(self, step: Step, command: str) -> Typed:
        terminal = Terminal(step.command, self.folder, self._environment)
        self.terminals.append(terminal)
        if command == "broker":
            terminal.wait_for(2, "Kafka listens on")
        elif command == "serve":
            terminal.wait_for(2, "Serving at")
            self._wait_for_tables()
        else:
            terminal.wait_for(2)  # the names of the columns, and a row
        return Typed(step, terminal.output, 0)

    def _wait_for_tables(self) -> None:
        def ready() -> bool:
            with suppress(httpx.TransportError):
                return httpx.get(f"{self.url}/readyz").status_code == 200
            return False

        wait_until(ready, lambda: self.terminals[-1].output)

    def terminal(self, command: str) -> Terminal:
        """Returns the last terminal whose command contains this text."""
        return next(each for each in reversed(self.terminals) if command in each.command)

    def close(self, command: str) -> list[int]:
        """Ends all commands that contain this text with Ctrl-C, and returns their exit codes."""
        return [each.ctrl_c() for each in self.terminals if command in each.command]


def differences(typed: Sequence[Typed]) -> str:
    """Returns the steps whose output is not that of the page."""
    wrong = [each for each in typed if not each.is_as_shown]
    return "\n".join(f"$ {each.step.command}\n{each.output}\ninstead of\n{each.step.shown}" for each in wrong)
