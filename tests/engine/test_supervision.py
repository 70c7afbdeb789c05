"""The engine's supervision of children that die, fail or hang; without Spark, every race takes milliseconds."""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.specs import spec

from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.engine.protocol import Died, EngineEvent, Failed, Ready, Started
from evertable.errors import EngineError, NotEnoughSlotsError, QueryFailedError


class Supervised:
    """An engine with a fake child, and its events; counts requests for new delays."""

    def __init__(self, log: Path, *habits: str, delay_s: float = 0.01, master: str = "local[*]") -> None:
        self.events: list[EngineEvent] = []
        self.delays_given = 0
        self._delay_s = delay_s
        program = (sys.executable, str(Path(__file__).with_name("fake_child.py")), *habits)
        self.engine = Engine(EngineSettings(master, log=log), self.events.append, self._delays, program)

    def _delays(self) -> Iterator[float]:
        self.delays_given += 1
        return itertools.repeat(self._delay_s)

    def count(self, kind: type[EngineEvent]) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    def wait(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20
        while not done():
            assert time.monotonic() < deadline, self.events
            time.sleep(0.005)


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    made: list[Supervised] = []

    def make(*habits: str, **how: Any) -> Supervised:
        made.append(Supervised(tmp_path / "log", *habits, **how))
        return made[-1]

    yield make
    for each in made:
        each.engine.close()


def kill(engine: Engine) -> None:
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)


def test_a_child_that_dies_at_once_is_reported_at_once_with_its_last_error(
    supervise: Callable[..., Supervised],
) -> None:
    with pytest.raises(EngineError, match=r"ended with code 3 \(Error: no room\)"):
        supervise("dies-at-once").engine.open()


def test_a_log_that_cannot_be_written_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no-such-folder"):
        Engine(EngineSettings(log=tmp_path / "no-such-folder" / "log")).open()


def test_closing_before_opening_does_not_wait(supervise: Callable[..., Supervised]) -> None:
    engine = supervise().engine
    engine.close()
    with pytest.raises(EngineError, match="Spark did not start: it was closed while it was starting"):
        engine.open(timeout_s=10)


def test_a_running_generation_is_restarted_after_the_childs_death(supervise: Callable[..., Supervised]) -> None:
    supervised = supervise()
    supervised.engine.open()
    supervised.engine.start(spec())
    for deaths in range(1, 4):
        kill(supervised.engine)
        supervised.wait(lambda deaths=deaths: supervised.count(Started) == 1 + deaths)  # type: ignore[misc]
    assert supervised.engine.running == {7}


def test_delays_are_reset_only_after_a_healthy_run(supervise: Callable[..., Supervised]) -> None:
    """A child that always fails at its start is restarted after growing delays."""
    supervised = supervise("dies-when-ready")
    supervised.engine.open()
    supervised.wait(lambda: supervised.count(Died) >= 5)
    assert supervised.delays_given == 1


def test_a_restarted_query_that_fails_to_start_is_retried(supervise: Callable[..., Supervised]) -> None:
    """The caller that restarts a stalled query does not wait for the start."""
    supervised = supervise("fails-second-start")
    supervised.engine.open()
    supervised.engine.start(spec())
    supervised.engine.restart(7)
    supervised.wait(lambda: supervised.count(Started) == 2)
    assert supervised.engine.running == {7}


def test_a_query_that_is_stopped_during_its_restart_stays_stopped(supervise: Callable[..., Supervised]) -> None:
    """Its generation has ended, and its changelog is about to be deleted."""
    supervised = supervise("stops-slowly")
    supervised.engine.open()
    supervised.engine.start(spec())
    restarting = threading.Thread(target=supervised.engine.restart, args=(7,))
    restarting.start()
    supervised.wait(lambda: 7 in supervised.engine._stopping)
    supervised.engine.stop(7)
    restarting.join()
    assert (supervised.engine.running, supervised.count(Started)) == (frozenset(), 1)


def test_stopping_while_there_is_no_child_has_nothing_to_wait_for(supervise: Callable[..., Supervised]) -> None:
    supervised = supervise(delay_s=60)
    supervised.engine.open()
    supervised.engine.start(spec())
    kill(supervised.engine)
    supervised.wait(lambda: supervised.count(Died) == 1)
    supervised.engine.stop(7)
    assert supervised.engine.wait_released(7, timeout_s=0)
    assert supervised.engine.running == frozenset()


def test_a_child_that_dies_of_a_stop_has_stopped(supervise: Callable[..., Supervised]) -> None:
    supervised = supervise("dies-on-stop")
    supervised.engine.open()
    supervised.engine.start(spec())
    supervised.engine.stop(7)
    assert supervised.engine.wait_released(7)


class Starting:
    """A start on a separate thread, and its error."""

    def __init__(self, supervised: Supervised) -> None:
        self._supervised = supervised
        self.problem = ""
        self._thread = threading.Thread(target=self._start)
        self._thread.start()
        supervised.wait(lambda: 7 in supervised.engine.running)

    def _start(self) -> None:
        try:
            self._supervised.engine.start(spec())
        except EngineError as error:
            self.problem = str(error)

    def join(self) -> None:
        self._thread.join(timeout=10)
        assert not self._thread.is_alive()


@pytest.mark.parametrize(
    ("habit", "master"), [("ignores-starts", "local[*]"), ("executors-come-on-stop", "spark://none:7077")]
)
def test_a_pending_start_ends_when_it_is_stopped(supervise: Callable[..., Supervised], habit: str, master: str) -> None:
    """Both if the command was sent, and if it still waits for a cluster's slots."""
    supervised = supervise(habit, master=master)
    supervised.engine.open()
    starting = Starting(supervised)
    supervised.engine.stop(7)
    starting.join()
    assert starting.problem == "[ENGINE_FAILED] Generation 7 was stopped before it had started."
    assert supervised.engine.running == frozenset()


def test_a_start_waits_for_executors_that_come_late(supervise: Callable[..., Supervised]) -> None:
    """A cluster has none when Spark is ready; the start command is sent only when they are connected."""
    supervised = supervise("executors-come-on-stop", master="spark://none:7077")
    assert supervised.engine.open().slots == 0
    starting = Starting(supervised)
    assert supervised.engine.free_slots() == 0
    supervised.engine.stop(99)
    starting.join()
    assert starting.problem == ""
    assert (supervised.count(Failed), supervised.count(Started)) == (0, 1)
    assert supervised.engine.free_slots() == 16 - 9


def test_the_wait_for_executors_ends(supervise: Callable[..., Supervised], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evertable.engine.process.ARRIVAL_S", 0.1)
    supervised = supervise("executors-come-on-stop", master="spark://none:7077")
    supervised.engine.open()
    with pytest.raises(NotEnoughSlotsError, match=r"needs 9 .* 0 are free"):
        supervised.engine.start(spec())
    assert supervised.engine.running == frozenset()


def test_a_query_that_lacked_slots_is_tried_as_soon_as_there_are_more(supervise: Callable[..., Supervised]) -> None:
    """It does not wait for its delay, which is a minute here."""
    supervised = supervise("executors-come-on-stop", delay_s=60, master="spark://none:7077")
    supervised.engine.open()
    supervised.engine.start(spec("microbatch"))  # holds no slots, so it starts at once
    supervised.wait(lambda: supervised.count(Failed) == 1)
    supervised.engine.stop(99)
    supervised.wait(lambda: supervised.count(Started) == 2)
    assert supervised.engine.running == {7}


def test_a_rejected_start_is_not_retried(supervise: Callable[..., Supervised]) -> None:
    supervised = supervise("refuses")
    supervised.engine.open()
    with pytest.raises(QueryFailedError, match="did not start: never") as refused:
        supervised.engine.start(spec())
    assert (refused.value.reason, refused.value.retriable) == ("NO_WAY", False)
    assert supervised.engine.running == frozenset()


def test_a_temporary_failure_is_retried_until_stopped(supervise: Callable[..., Supervised]) -> None:
    supervised = supervise("fails-later")
    supervised.engine.open()
    supervised.engine.start(spec())
    supervised.wait(lambda: supervised.count(Failed) >= 4)
    supervised.engine.stop(7)
    assert supervised.engine.running == frozenset()
    again = supervised.engine._retry
    supervised.wait(lambda: not any(getattr(thread, "function", None) == again for thread in threading.enumerate()))


def test_a_query_that_commits_and_fails_again_is_retried_after_growing_delays(
    supervise: Callable[..., Supervised],
) -> None:
    """After each start, its first commit may come before it reads the record that it fails on."""
    supervised = supervise("commits-first", "fails-later")
    supervised.engine.open()
    supervised.engine.start(spec())
    supervised.wait(lambda: supervised.count(Failed) >= 5)
    supervised.engine.stop(7)
    assert supervised.delays_given == 3  # for the child, for the query, and after its first commit


def test_slots_are_counted_over_all_generations(supervise: Callable[..., Supervised]) -> None:
    """16 slots; each generation of 7 readers and 2 state partitions holds 9."""
    supervised = supervise()
    supervised.engine.open()
    supervised.engine.start(spec())
    with pytest.raises(NotEnoughSlotsError, match=r"needs 9 .* 7 are free"):
        supervised.engine.start(spec(number=8))
    supervised.engine.stop(7)
    supervised.engine.start(spec(number=8))


def test_an_event_handler_that_raises_has_no_effect(supervise: Callable[..., Supervised]) -> None:
    supervised = supervise()

    def fail(event: EngineEvent) -> None:
        raise RuntimeError(str(event))

    supervised.engine.listen(fail)
    supervised.engine.open()
    assert supervised.engine.start(spec()).generation == 7


def test_closing_at_any_time_leaves_no_thread_and_no_process(supervise: Callable[..., Supervised]) -> None:
    before = set(threading.enumerate())
    for habit in ("dies-when-ready", "ignores-starts", ""):
        supervised = supervise(habit)
        supervised.engine.open()
        pid = supervised.engine.pid
        supervised.engine.close()
        supervised.engine.close()
        assert supervised.engine.pid is None
        assert not (pid and Path(f"/proc/{pid}").exists())
    assert set(threading.enumerate()) <= before


def test_each_run_has_a_scratch_folder_that_ends_with_it(
    supervise: Callable[..., Supervised], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed JVM leaves its files, which the next run or the end removes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    supervised = supervise()
    supervised.engine.open()
    before = list(tmp_path.glob("evertable-spark-*"))
    assert len(before) == 1
    kill(supervised.engine)
    supervised.wait(lambda: supervised.count(Ready) == 2)
    after = list(tmp_path.glob("evertable-spark-*"))
    assert len(after) == 1
    assert after != before
    supervised.engine.close()
    assert list(tmp_path.glob("evertable-spark-*")) == []


@pytest.mark.parametrize("end", [Engine.close, lambda engine: kill(engine)], ids=["closed", "killed"])
def test_a_jvm_does_not_outlive_its_process(
    supervise: Callable[..., Supervised], tmp_path: Path, end: Callable[[Engine], None]
) -> None:
    """A JVM that has only just started does not notice its owner's end, and would wait without end."""
    supervised = supervise("has-a-jvm")
    supervised.engine.open()
    [jvm] = re.findall(r"jvm (\d+)", (tmp_path / "log").read_text())
    end(supervised.engine)
    supervised.wait(lambda: not Path(f"/proc/{jvm}").exists())
