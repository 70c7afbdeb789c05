"""Somebody who reads a page and types what it says, in an empty folder, with a real Kafka and a real Spark."""

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
from tests.documents.pages import Step
from tests.waiting import wait_until

from evertable.broker.ports import choose

HOST = "127.0.0.1"
STAYS = re.compile(r"evertable (broker|serve|tail)\b")
"""Commands that go on until Ctrl-C, each in a terminal of its own."""

PATIENCE_S = 240.0
"""For one command; a start of Spark takes seconds, or more than a minute where ten other programs want the cores."""


@dataclass(frozen=True)
class Typed:
    """A step that was done, and what it said."""

    step: Step
    said: str
    code: int

    @property
    def as_told(self) -> bool:
        """Commands succeed, unless the page shows an error; and they say what it shows."""
        return self.step.agrees(self.said) and (self.code == 0) is not self.step.shown.startswith("[")


class Terminal:
    """One that a command was left running in."""

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
    def said(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, lines: int, text: str = "") -> None:
        """For so many lines, and for one with this text."""
        wait_until(
            lambda: (len(self.lines) >= lines and text in self.said) or self._process.poll() is not None,
            lambda: f"{self.command}: {text!r}, in\n{self.said}",
            PATIENCE_S,
        )
        assert self._process.poll() is None, f"{self.command} has ended:\n{self.said}"

    def ctrl_c(self) -> int:
        """As a terminal does it: to all that runs in it. The exit code; what takes longer than a minute is killed."""
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
    """Types commands, one after the other; ports are free ones instead of those on the page, hosts are this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kafka = choose(HOST)
        self.port = choose(HOST, besides=self.kafka)
        self.url = f"http://{HOST}:{self.port}"
        self.typed: list[Typed] = []
        self.terminals: list[Terminal] = []
        (folder / ".venv").symlink_to(sys.prefix)  # as scripts/setup makes it
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
        """What a page says, with the addresses of this machine."""
        for theirs, ours in (
            ("--auto-create", f"--auto-create --port {self.kafka}"),
            ("--port 9092", ""),
            ("localhost:9092", f"{HOST}:{self.kafka}"),
            ("127.0.0.1:9092", f"{HOST}:{self.kafka}"),
            ("your-machine:", f"{HOST}:"),
            ("0.0.0.0", HOST),  # noqa: S104 - on the contrary: tests listen on loopback alone
            (":10000", f":{self.port}"),
        ):
            text = text.replace(theirs, ours)
        return text

    def write(self, name: str, text: str) -> None:
        """A file, as the page has it."""
        (self.folder / name).write_text(self.here(text))

    def type(self, step: Step) -> None:
        """Waits until the command has ended; or, if it goes on until Ctrl-C, until it has said what one waits for."""
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
        return Typed(step, terminal.said, 0)

    def _wait_for_tables(self) -> None:
        def ready() -> bool:
            with suppress(httpx.TransportError):
                return httpx.get(f"{self.url}/readyz").status_code == 200
            return False

        wait_until(ready, lambda: self.terminals[-1].said)

    def terminal(self, command: str) -> Terminal:
        """The last one that a command with this text runs in."""
        return next(each for each in reversed(self.terminals) if command in each.command)

    def close(self, command: str) -> list[int]:
        """Ctrl-C wherever a command with this text runs; the exit codes."""
        return [each.ctrl_c() for each in self.terminals if command in each.command]


def told_otherwise(typed: Sequence[Typed]) -> str:
    """The steps that did not go as the page says; empty if all did."""
    wrong = [each for each in typed if not each.as_told]
    return "\n".join(f"$ {each.step.command}\n{each.said}\nbut ought to say\n{each.step.shown}" for each in wrong)
