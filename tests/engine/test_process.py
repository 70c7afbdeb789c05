"""The engine's process: slots, queries that cannot start, spark-submit, and what is left when it ends."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.engine.conftest import NewGeneration
from tests.engine.rig import Generation, Sent, config
from tests.processes import children, is_alive
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.schema import Side
from evertable.config import JoinType
from evertable.engine.process import Engine
from evertable.engine.protocol import EngineEvent, EpochCommitted, Stopped, command
from evertable.engine.spec import to_wire
from evertable.errors import NotEnoughSlotsError, QueryFailedError, TopicNotFoundError
from evertable.generations.build import build, changelog_topics
from evertable.install.jars import jar_paths
from evertable.install.operator import operator_jar


def test_a_generation_that_needs_more_slots_than_are_free_is_refused_with_both_numbers(
    engine: Engine, new_generation: NewGeneration
) -> None:
    with new_generation(JoinType.INNER) as running:
        running.start()
        free = engine.free_slots()
        assert free is not None
        too_large = dataclasses.replace(running.built.spec, generation=10**6, readers=free)
        with pytest.raises(NotEnoughSlotsError, match=rf"needs {free + 1} .* {free} are free"):
            engine.start(too_large)
        assert engine.free_slots() == free
        assert running.number in engine.running


def test_a_query_that_cannot_start_reports_why_and_affects_no_other(
    engine: Engine, new_generation: NewGeneration, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    with new_generation(JoinType.INNER) as running, new_generation(JoinType.INNER) as broken:
        running.start()
        broken.checkpoint = tmp_path / "file" / "checkpoint"
        with pytest.raises(QueryFailedError, match=f"Generation {broken.number} did not start"):
            broken.start()
        running.send([Sent(Side.LEFT, b'{"userId": "k"}')])
        running.read()
        assert engine.running == {running.number}


@pytest.mark.parametrize("trigger", ["realtime", "microbatch"])
def test_commits_are_reported_with_the_ends_of_both_sides(
    engine: Engine, new_generation: NewGeneration, trigger: str
) -> None:
    events: list[EngineEvent] = []
    engine.listen(events.append)
    with new_generation(JoinType.LEFT, trigger, partitions=2) as generation:
        generation.start()
        for sent in (1, 3):  # records that each side has by then
            generation.send(
                [Sent(Side.LEFT, b"{}", partition=1), Sent(Side.RIGHT, b"{}")] * (sent - len(generation.sent) // 2)
            )
            wanted = ({0: 0, 1: sent}, {0: sent, 1: 0})
            wait_until(
                lambda wanted=wanted: any(  # type: ignore[misc]
                    isinstance(event, EpochCommitted) and (event.left, event.right) == wanted for event in events
                ),
                f"a commit up to {wanted}",
            )
    engine.listen(None)


def test_a_query_whose_kafka_is_unreachable_delays_no_other(
    engine: Engine, engine_events: list[EngineEvent], new_generation: NewGeneration
) -> None:
    """Another generation starts while it is being stopped, runs, and stops."""
    unreachable = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "8000", "request.timeout.ms": "2000"}
    with new_generation(JoinType.INNER) as lost, new_generation(JoinType.INNER) as other:
        spec = lost.build().built.spec
        engine.start(dataclasses.replace(spec, left=dataclasses.replace(spec.left, kafka=unreachable)))
        stopping = threading.Thread(target=engine.stop, args=(lost.number, 120))
        stopping.start()
        places = other.send([Sent(Side.LEFT, b'{"userId": "k"}')])
        other.start().read()
        engine.stop(other.number)
        stopping.join()
        assert other.seen == set(places)
        assert all(Stopped(number) in engine_events for number in (lost.number, other.number))


def test_on_a_broker_that_creates_topics_a_deleted_changelog_stays_deleted(engine: Engine, tmp_path: Path) -> None:
    """Requesting a missing source or a retired changelog does not create it."""
    with EmbeddedBroker(properties={"auto.create.topics.enable": "true"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        missing = config(broker.bootstrap, "no-users", "no-accounts", JoinType.LEFT)
        with pytest.raises(TopicNotFoundError, match="no-users"):
            build(missing, 1, changelog_topics(missing), str(tmp_path / "none"))
        wiring = config(broker.bootstrap, "users", "accounts", JoinType.LEFT)
        with Generation(wiring, 999_001, engine, tmp_path / "checkpoint") as generation:
            generation.send([Sent(side, b'{"userId": "k"}') for side in Side])  # the producer creates the topics
            generation.start().read()
            changelog = generation.built.spec.changelog_topic
            assert changelog in admin.list_topics().topics
        until = time.monotonic() + 5  # a producer that is still open would ask for its topic again by then
        while time.monotonic() < until:
            assert set(admin.list_topics().topics) <= {"users", "accounts", "__consumer_offsets"}
            time.sleep(0.2)


def test_the_same_program_runs_under_spark_submit(new_generation: NewGeneration, tmp_path: Path) -> None:
    """Commands come from a file; the query runs until the program is killed."""
    from evertable.engine import child

    with new_generation(JoinType.INNER) as generation:
        generation.send([Sent(side, b'{"userId": "k"}') for side in Side])
        generation.build()
        commands = generation.checkpoint.with_suffix(".commands")
        commands.write_bytes(command("open") + command("start", spec=to_wire(generation.built.spec)))
        jars = ",".join(map(str, [operator_jar(), *jar_paths("engine")]))
        submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[16]", "--jars", jars]
        log = tmp_path / "log"
        with (
            log.open("wb") as output,
            subprocess.Popen(
                [*submit, str(child.__file__), "--commands", str(commands)],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
                stdout=output,
                stderr=output,
                start_new_session=True,
            ) as program,
        ):
            try:
                generation.read()
            except AssertionError:
                pytest.fail(log.read_text()[-6000:])
            finally:
                os.killpg(program.pid, signal.SIGTERM)
        assert sum(changes.matches.num_rows for changes in generation.changes) == 1


OWNER = """
import sys, threading, time
from pathlib import Path
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
engine = Engine(EngineSettings(log=Path(sys.argv[1])))
opening = threading.Thread(target=engine.open, daemon=True)
opening.start()
while engine.pid is None:
    time.sleep(0.01)
print(engine.pid, flush=True)
opening.join()
print("open", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("killed", ["when it is open", "while it opens", "while Spark hangs"])
def test_nothing_of_the_engine_outlives_its_owner(tmp_path: Path, killed: str) -> None:
    """kill -9 of the process that opened it leaves neither the engine's process nor Spark's, nor temporary files."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-c", OWNER, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)}) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        if killed == "when it is open":
            assert owner.stdout.readline() == b"open\n"
        wait_until(lambda: children(pid), "Spark's process")
        pids = [pid, *children(pid)]
        assert len(pids) == 2
        assert [path.name.startswith("evertable-spark-") for path in temporary.iterdir()] == [True]
        if killed == "while Spark hangs":
            os.kill(pids[1], signal.SIGSTOP)
        owner.kill()
    wait_until(lambda: not any(map(is_alive, pids)), f"processes {pids} to end")
    wait_until(lambda: not list(temporary.iterdir()), "the scratch folder to go")
