"""``evertable serve`` under chaos: killed and restarted, always at the same address."""

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
REQUEST_TIMEOUT_S = 10
BUILDING = re.compile(r"Building generation (\d+): (\S+) \w+ (\S+)")
SPARK_DIED = "[ENGINE_FAILED] Spark did not start"


@dataclass(frozen=True)
class Built:
    """A generation's wiring, from the server's log line; ``began`` is in seconds since 1970."""

    left_topic: str
    right_topic: str
    began: float


class Life(Process):
    """One server process, whose start is not waited for."""

    def __init__(self, configuration: dict[str, Any], folder: Path) -> None:
        self.built: dict[int, Built] = {}
        super().__init__(configuration, folder)
        self.http = httpx.Client(base_url=f"http://{HOST}:{configuration['server']['port']}", timeout=REQUEST_TIMEOUT_S)

    def _add_line(self, line: str) -> None:
        super()._add_line(line)
        if found := BUILDING.search(line):
            number, left, right = found.groups()
            self.built[int(number)] = Built(left, right, time.time())

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()


class Server:
    """The successive processes of one app; ``ended`` lists those that ended by themselves, and why."""

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
        """All generations, also those that no table lists any more. The number of one that nobody saw may be reused."""
        return {number: built for life in self._lives for number, built in life.built.items()}

    def start(self) -> None:
        self._lives.append(Life(self._configuration, self._folder))

    def kill(self, *, with_spark: bool) -> None:
        """Kills the server, with Spark or without: then Spark has to notice by itself."""
        self.ends.append(time.time())
        for process in self.processes() if with_spark else []:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(ProcessLookupError):
            self.life.kill()

    def kill_spark(self) -> bool:
        """Kills Spark's JVM, and returns whether there was one."""
        if not any("generation" in line for line in self.life.lines):
            self._killed_at_start = self.life
        found = [process for process in self.processes() if _command(process) == "java"]
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return bool(found)

    def restart_if_ended(self) -> None:
        """Restarts the server if it ended by itself."""
        if self.life.code not in (None, -signal.SIGKILL):
            self.heal()

    def heal(self) -> None:
        """Restarts the server if it is not running, and records an end without a reason.

        If Spark dies during the server's first start, the server reports that and ends, and its operator restarts it.
        """
        if self.running:
            return
        if self.life.code != -signal.SIGKILL:
            self.ends.append(time.time())
            if not (self.life is self._killed_at_start and self.life.printed(SPARK_DIED)):
                self.ended.append(f"serve ended by itself with {self.life.code}: " + " / ".join(self.life.lines[-5:]))
        self.start()

    def stop(self) -> None:
        """Stops the server; raises if it fails to stop cleanly or leaves a process behind."""
        code = self.life.end()
        assert (code, self.life.lines[-1]) == (0, "Stopped."), f"it ended with {code}: {self.life.lines[-5:]}"
        wait_until(lambda: not self.processes(), lambda: f"the end of {self.descriptions()}")

    def processes(self) -> list[int]:
        """Lists the server and all its descendants, which inherit its environment."""
        mark = f"XDG_STATE_HOME={self._folder}\0".encode()
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (each / "environ").read_bytes() and (each / "stat").read_text().split()[2] != "Z":
                    found.append(int(each.name))
        return sorted(found)

    def descriptions(self) -> list[str]:
        return [f"{process} {_command(process)}" for process in self.processes()]

    def log(self) -> str:
        """Returns the output of all processes."""
        return "\n".join(f"--- process {at}\n" + "\n".join(life.lines) for at, life in enumerate(self._lives, 1)) + "\n"

    def close(self) -> None:
        """Kills every process that is left."""
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
