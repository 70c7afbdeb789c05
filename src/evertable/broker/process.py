"""A command that runs under ``supervisor.py``, so that it never outlives its owner."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from evertable.broker import supervisor
from evertable.install.environment import child_environment


class SupervisedProcess:
    """One running command, which ends with its owner, however the owner ends."""

    def __init__(self, command: Sequence[str], output: Path, leftover: Path | None, keep_open: Sequence[int]) -> None:
        """Starts it in the folder of its output. If the owner dies, the supervisor removes ``leftover``.

        The files in ``keep_open`` stay open for as long as the command runs.
        """
        wrapper = [sys.executable, "-I", "-S", supervisor.__file__, str(os.getpid()), str(leftover or "-")]
        with output.open("wb") as file:
            self._supervisor = subprocess.Popen(
                [*wrapper, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                bufsize=0,
                pass_fds=keep_open,
                env=child_environment(),
                cwd=output.parent,  # where a crashing JVM leaves its report
                start_new_session=True,  # Ctrl-C is for the owner, which then stops it cleanly
            )
        assert self._supervisor.stdin is not None  # noqa: S101 - opened above
        assert self._supervisor.stdout is not None  # noqa: S101 - opened above
        self._orders = self._supervisor.stdin
        with self._supervisor.stdout as written:  # the supervisor writes it, then closes its end
            self.pid = int(written.read() or 0)

    @property
    def running(self) -> bool:
        return self._supervisor.poll() is None

    def ended_within(self, seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(seconds)
            return True
        return False

    def stop(self, patience_s: float) -> None:
        """Ends it with SIGTERM, or with SIGKILL if that takes too long."""
        self._order(b"T")
        if not self.ended_within(patience_s):
            self._order(b"K")
        self._finish()

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self._order(b"K")
        self._finish()

    def _order(self, order: bytes) -> None:
        with suppress(BrokenPipeError):  # it has already ended
            if not self._orders.closed:
                self._orders.write(order)

    def _finish(self) -> None:
        self._supervisor.wait()
        self._orders.close()
