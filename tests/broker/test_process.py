"""A supervised process ends on request, by force, and with its owner."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.processes import is_gone
from tests.waiting import wait_until

from evertable.broker.process import SupervisedProcess

WAITING = "import signal, sys; signal.signal(signal.SIGTERM, {}); print('ready', flush=True); signal.pause()"
STUBBORN = WAITING.format("signal.SIG_IGN")
ORDERLY = WAITING.format("lambda *_: sys.exit('bye')")


def start(program: str, output: Path, keep_open: tuple[int, ...] = ()) -> SupervisedProcess:
    process = SupervisedProcess([sys.executable, "-c", program], output, None, keep_open)
    wait_until(lambda: output.read_text().startswith("ready"))
    return process


def test_stop_lets_it_end_cleanly(tmp_path: Path) -> None:
    process = start(ORDERLY, tmp_path / "out")
    assert process.running
    process.stop(30)
    assert (process.running, is_gone(process.pid)) == (False, True)
    assert (tmp_path / "out").read_text() == "ready\nbye\n"


def test_stop_kills_what_ignores_sigterm(tmp_path: Path) -> None:
    process = start(STUBBORN, tmp_path / "out")
    process.stop(0.1)
    assert (process.running, is_gone(process.pid)) == (False, True)


def test_kill_does_not_wait(tmp_path: Path) -> None:
    process = start(ORDERLY, tmp_path / "out")
    process.kill()
    assert is_gone(process.pid)
    assert (tmp_path / "out").read_text() == "ready\n"


def test_one_that_ends_by_itself_may_still_be_stopped_and_killed(tmp_path: Path) -> None:
    process = SupervisedProcess([sys.executable, "-c", "pass"], tmp_path / "out", None, ())
    assert process.ended_within(30)
    process.stop(30)
    process.kill()
    assert not process.running


def test_a_lock_is_held_until_it_ends(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start(ORDERLY, tmp_path / "out", (lock.fileno(),))
    with (tmp_path / "lock").open("w") as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.kill()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_it_dies_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    process = start(STUBBORN, tmp_path / "out")
    os.kill(process._supervisor.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(process.pid))
    process.kill()
