"""``evertable serve`` as a separate process, which can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import httpx
import yaml
from tests.serving.rig import Http
from tests.waiting import wait_until

SERVE = ("-c", "from evertable.cli import main; main()")


class Process(Http):
    """A process group, with the lines that it prints."""

    def __init__(self, configuration: dict[str, Any], folder: Path, program: Sequence[str] = SERVE) -> None:
        path = folder / "evertable.yaml"
        path.write_text(yaml.safe_dump(configuration, sort_keys=False))
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, *program, "serve", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "XDG_STATE_HOME": str(folder), "NO_COLOR": "1"},
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._add_line(line.rstrip("\n"))

    def _add_line(self, line: str) -> None:
        self.lines.append(line)

    @property
    def group(self) -> int:
        """The id of the process and of its group."""
        return self._process.pid

    def printed(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    def __enter__(self) -> Self:
        wait_until(lambda: self.printed("Serving at") or self._process.poll() is not None, "the server")
        assert self._process.poll() is None, "\n".join(self.lines)
        url = next(line for line in self.lines if line.startswith("Serving at")).split()[-1]
        self.http = httpx.Client(base_url=url, timeout=30)
        return self

    def kill(self) -> None:
        """Kills the whole group with -9."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> int:
        """Sends SIGTERM, and returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)

    def wait(self) -> int:
        """Waits until it ends by itself, and returns the exit code."""
        return self._process.wait(90)

    def __exit__(self, *_: object) -> None:
        self.http.close()
        if self._process.poll() is None:
            self.kill()
        self._reading.join()
        if self._process.stdout:
            self._process.stdout.close()
