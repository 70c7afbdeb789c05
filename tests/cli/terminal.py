"""The ``evertable`` command in a pipe or in a pseudo-terminal."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.client.fake_orchestrator import FakeOrchestrator

EVERTABLE = str(Path(sys.executable).with_name("evertable"))


def start_evertable(orchestrator: FakeOrchestrator, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Starts the command as a process."""
    env = {**os.environ, "EVERTABLE_URL": orchestrator.url, **environment}
    command = [EVERTABLE, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def result_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Waits for a command, and returns its exit code, output and errors."""
    with process:
        output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


class Terminal:
    """A pseudo-terminal, with the output that was written to it."""

    def __init__(self, height: int, width: int = 100) -> None:
        self._master, self._slave = pty.openpty()
        os.set_blocking(self._master, False)
        self.resize(height, width)
        self.written = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end in the middle of a character

    def resize(self, height: int, width: int = 100) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def shows(self, text: str) -> bool:
        """Returns whether the text was written since the last ``clear``."""
        with suppress(BlockingIOError):
            self.written += self._decoder.decode(os.read(self._master, 1 << 20))
        return text in self.written

    def clear(self) -> None:
        self.written = ""

    @contextmanager
    def run(self, command: Sequence[str], **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        """Runs a command in the terminal, and kills it at the end."""
        process = subprocess.Popen(
            command,
            stdout=self._slave,
            stderr=self._slave,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "", "LINES": "", **environment},
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def close(self) -> None:
        os.close(self._master)
        os.close(self._slave)
