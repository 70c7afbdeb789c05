"""The folder for temporary files of one life of the engine: Python's, the JVM's and Spark's own.

The owner makes it, and removes it after the child process has ended. If the owner was killed, the child removes it; and
if Spark does not end in time, a process that outlives both: ``python -m evertable.engine.scratch FOLDER GROUP``. If all
of them were killed at once, the next one to start on this machine does: owner and child hold the folder locked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PREFIX = "evertable-spark-"
TRIES = 30
TERM_S = 3.0  # for a JVM to end when it is asked to


def make() -> tuple[Path, int]:
    """A new folder, and an open file: for as long as any process holds that open, nobody sweeps the folder."""
    sweep(Path(tempfile.gettempdir()))
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(BlockingIOError, FileNotFoundError):  # swept before it was held
            return folder, _hold(folder)


def sweep(parent: Path) -> None:
    """Removes folders that nobody holds: all their processes were killed at once, or the machine went down."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # held, gone, another user's, or where there are no locks
            file = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file).st_uid == os.getuid():
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(file)


def _hold(folder: Path) -> int:
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.stat()
    except (BlockingIOError, FileNotFoundError):
        os.close(file)
        raise
    except OSError:  # there are no locks here, and so no sweeping
        pass
    return file


def remove(folder: Path) -> None:
    """Removes it with all that is in it; a killed JVM ends a moment later, and writes until then."""
    if not folder.name.startswith(PREFIX):
        raise ValueError(f"{folder} is no scratch folder")
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def remove_from_outside(folder: Path) -> None:
    """Leaves it to another process to end this one's group, Spark included, and to remove the folder then."""
    if os.getpgrp() != os.getpid():  # started by hand, in the group of something else
        return
    command = [sys.executable, "-m", "evertable.engine.scratch", str(folder), str(os.getpgrp())]
    subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)


def end(group: int) -> None:
    """Ends a group of processes, by force those that do not end in time."""
    with suppress(ProcessLookupError):  # there is none of them any more
        os.killpg(group, signal.SIGTERM)
        for _ in range(int(TERM_S / 0.1)):
            time.sleep(0.1)
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    end(int(sys.argv[2]))
    remove(Path(sys.argv[1]))
