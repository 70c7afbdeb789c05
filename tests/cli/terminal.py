"""A pseudo-terminal for tests."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


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
