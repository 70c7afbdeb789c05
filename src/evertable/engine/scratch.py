"""The folder for temporary files of one life of the engine: Python's, the JVM's and Spark's own.

The owner makes it, and removes it after the child process has ended. If the owner was killed, the child removes it; and
if Spark does not end in time, a process that outlives both: ``python -m evertable.engine.scratch FOLDER GROUP``.
"""

from __future__ import annotations

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


def make() -> Path:
    return Path(tempfile.mkdtemp(prefix=PREFIX))


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
