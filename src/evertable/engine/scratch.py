"""The folder for temporary files of one run of the engine: Python's, the JVM's and Spark's.

The owner creates it, and removes it after the child process has ended. If the owner was killed, the child removes it.
If Spark does not end in time, a process that outlives both does: ``python -m evertable.engine.scratch FOLDER GROUP``.
If all of them were killed, the next engine on this machine does: a folder that no process holds locked is left over.
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
TERM_S = 3.0  # for a JVM to end after SIGTERM


def create() -> tuple[Path, int]:
    """Creates a folder and returns it with an open file; while any process holds that open, the folder is kept."""
    sweep(Path(tempfile.gettempdir()))
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(BlockingIOError, FileNotFoundError):  # swept before it was locked
            return folder, _lock(folder)


def sweep(parent: Path) -> None:
    """Removes folders that no process holds locked, left over from a crash."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # locked, gone, another user's, or on a file system without locks
            file = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file).st_uid == os.getuid():
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(file)


def _lock(folder: Path) -> int:
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.stat()
    except (BlockingIOError, FileNotFoundError):
        os.close(file)
        raise
    except OSError:  # a file system without locks; nothing is swept there
        pass
    return file


def remove(folder: Path) -> None:
    """Removes a folder and its contents; retries, since a killed JVM may still write for a moment."""
    if not folder.name.startswith(PREFIX):
        raise ValueError(f"{folder} is no scratch folder")
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def remove_from_outside(folder: Path) -> None:
    """Starts a process that ends this one's group, including Spark, and then removes the folder."""
    if os.getpgrp() != os.getpid():  # started by hand, in the process group of another program
        return
    command = [sys.executable, "-m", "evertable.engine.scratch", str(folder), str(os.getpgrp())]
    subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)


def end(group: int) -> None:
    """Ends a process group, and kills what does not end in time."""
    with suppress(ProcessLookupError):  # all of them have ended
        os.killpg(group, signal.SIGTERM)
        for _ in range(int(TERM_S / 0.1)):
            time.sleep(0.1)
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    end(int(sys.argv[2]))
    remove(Path(sys.argv[1]))
