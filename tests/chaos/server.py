"""``evertable serve`` under chaos: at one address over all its lives, killed and started again."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.serving.process import Process
from tests.waiting import wait_until

from evertable.broker import ports

HOST = "127.0.0.1"
ASK_S = 10
BUILDING = re.compile(r"Building generation (\d+): (\S+) \w+ (\S+)")
SPARK_DIED = "[ENGINE_FAILED] Spark did not start"


@dataclass(frozen=True)
class Built:
    """A generation's wiring, as the server said when it began to build it; the time is in seconds since 1970."""

    left_topic: str
    right_topic: str
    began: float


class Life(Process):
    """One process, which is not waited for."""

    def __init__(self, configuration: dict[str, Any], folder: Path) -> None:
        self.built: dict[int, Built] = {}
        super().__init__(configuration, folder)
        self.http = httpx.Client(base_url=f"http://{HOST}:{configuration['server']['port']}", timeout=ASK_S)

    def _hear(self, line: str) -> None:
        super()._hear(line)
        if found := BUILDING.search(line):
            number, left, right = found.groups()
            self.built[int(number)] = Built(left, right, time.time())

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()


class Server:
    """The lives of one app, one after the other. ``ended`` are those that ended by themselves, and why."""

    def __init__(self, configuration: dict[str, Any], folder: Path) -> None:
        port = ports.choose(HOST)
        self.url = f"http://{HOST}:{port}"
        self.ended: list[str] = []
        self.ends: list[float] = []
        self._configuration = {**configuration, "server": {"port": port}}
        self._folder = folder
        self._lives: list[Life] = []
        self._killed_at_start: Life | None = None

    @property
    def life(self) -> Life:
        return self._lives[-1]

    @property
    def running(self) -> bool:
        return bool(self._lives) and self.life.code is None

    @property
    def built(self) -> dict[int, Built]:
        """All generations, also those that no table tells of any more. A number that nobody saw may be given again."""
        return {number: built for life in self._lives for number, built in life.built.items()}

    def start(self) -> None:
        self._lives.append(Life(self._configuration, self._folder))

    def kill(self, *, with_spark: bool) -> None:
        """As if its machine had lost power, or the process alone: then Spark has to notice by itself."""
        self.ends.append(time.time())
        for process in self.processes() if with_spark else []:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(ProcessLookupError):
            self.life.kill()

    def kill_spark(self) -> bool:
        """False if there is no JVM at the moment."""
        if not any("generation" in line for line in self.life.lines):
            self._killed_at_start = self.life
        found = [process for process in self.processes() if _command(process) == "java"]
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return bool(found)

    def tend(self) -> None:
        """Starts it again if it has ended by itself."""
        if self.life.code not in (None, -signal.SIGKILL):
            self.heal()

    def heal(self) -> None:
        """Starts it again if it is not there, and notes if it should have been.

        It ends by itself if Spark dies while it starts for the first time, so that people are told what is wrong with
        their Spark at once; who runs it starts it again, and so do we.
        """
        if self.running:
            return
        if self.life.code != -signal.SIGKILL:
            self.ends.append(time.time())
            if not (self.life is self._killed_at_start and self.life.said(SPARK_DIED)):
                self.ended.append(f"serve ended by itself with {self.life.code}: " + " / ".join(self.life.lines[-5:]))
        self.start()

    def stop(self) -> None:
        """In order; raises if it does not end as it should, or leaves a process behind."""
        code = self.life.end()
        assert (code, self.life.lines[-1]) == (0, "Stopped."), f"it ended with {code}: {self.life.lines[-5:]}"
        wait_until(lambda: not self.processes(), lambda: f"the end of {self.told()}")

    def processes(self) -> list[int]:
        """All that it has started, and itself, by the environment that they inherit."""
        belongs = f"XDG_STATE_HOME={self._folder}\0".encode()
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if belongs in (each / "environ").read_bytes() and (each / "stat").read_text().split()[2] != "Z":
                    found.append(int(each.name))
        return sorted(found)

    def told(self) -> list[str]:
        return [f"{process} {_command(process)}" for process in self.processes()]

    def log(self) -> str:
        """What all lives printed."""
        return "\n".join(f"--- life {at}\n" + "\n".join(life.lines) for at, life in enumerate(self._lives, 1)) + "\n"

    def close(self) -> None:
        """Ends all that is left, by force."""
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for life in self._lives:
            life.__exit__()


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return "gone"
