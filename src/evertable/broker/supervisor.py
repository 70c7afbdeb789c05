"""Runs one command as its only child and ends it on request, or when its owner is gone.

This is a small process between Evertable and the broker's JVM, run as a plain file without site-packages. It needs no
Linux-only feature of the kernel, and as the JVM's parent it can never signal a process that has reused the JVM's id.
Orders are single bytes on standard input: ``T`` stops cleanly, ``K`` kills. The end of the input means that the owner
has died: then it kills the command and removes the folder that the owner would have removed.

    python -I -S supervisor.py OWNER_PID FOLDER_TO_REMOVE|- COMMAND …

The first line of standard output is the child's process id.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import threading

OWNER_CHECK_S = 1.0  # a forked sibling may hold the input open, so the owner is checked too
PR_SET_PDEATHSIG = 1


def main(owner: int, leftover: str, command: list[str]) -> int:
    prepare = _die_with_parent if sys.platform == "linux" else None
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, preexec_fn=prepare, close_fds=False)
    for sent_by_others in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(sent_by_others, signal.SIG_IGN)  # only the owner gives orders
    os.write(1, f"{child.pid}\n".encode())
    os.close(1)
    orphaned = threading.Event()
    threading.Thread(target=_obey, args=(owner, child, orphaned), daemon=True).start()
    code = child.wait()
    if orphaned.is_set() and leftover != "-":
        shutil.rmtree(leftover, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _obey(owner: int, child: "subprocess.Popen[bytes]", orphaned: threading.Event) -> None:
    while os.getppid() == owner:
        if not select.select([0], [], [], OWNER_CHECK_S)[0]:
            continue
        order = os.read(0, 1)
        if order == b"T":
            child.send_signal(signal.SIGTERM)
        elif order == b"K":
            child.kill()
            return
        else:
            break
    orphaned.set()
    child.kill()


def _die_with_parent() -> None:
    """Runs in the child: makes it end if this supervisor is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
