"""The application with fakes of its own parts: no Kafka, no Spark, no server. What is opened is closed in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import orjson
import pytest
from tests.fake_parts import CONFIG, Rig
from tests.waiting import wait_until

from evertable.application import Application
from evertable.config import JoinType
from evertable.control.messages import ControlMessage
from evertable.errors import (
    AppRunningError,
    EngineError,
    EvertableError,
    FencedError,
    KafkaUnreachableError,
    TopicNotFoundError,
)
from evertable.shutdown import Shutdown
from evertable.state.records import ControlResult
from evertable.state.state import AppState

BEFORE_SPARK = ["server", "state topic", "engine"]
BEFORE_GENERATIONS = [*BEFORE_SPARK, "state writer"]
PARTS = [*BEFORE_GENERATIONS, "sweeper", "watch", "listener"]


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """Starts nothing, and ends what the test has started."""
    made = Rig(tmp_path, monkeypatch)
    yield made
    made.released.set()
    made.application.stop()
    if made.ended is not None:
        wait_until(made.ended.done)
    wait_until(lambda: not any(each.alive for each in made.orchestrators))


def failing(error: Exception) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


def run_until_live(rig: Rig) -> None:
    rig.run()
    rig.wait_for(lambda: rig.application.ready, "a live generation")
    rig.wait_for(lambda: ("control writer", "connected") in rig.noted)  # the last step of the start


def test_everything_is_opened_in_order_and_closed_in_reverse(rig: Rig) -> None:
    """The server is up first, so that people can watch the rest start, and a successor waits for the state topic."""
    run_until_live(rig)
    assert rig.urls == ["http://fake"]
    assert rig.opened == PARTS
    assert rig.closed == []
    rig.application.stop()
    assert rig.failure is None
    assert rig.closed == PARTS[::-1]


def test_generations_end_before_anything_is_closed_that_they_use(rig: Rig) -> None:
    run_until_live(rig)
    rig.application.stop()
    assert rig.failure is None
    ends = [part for part, what in rig.noted if what in ("closed", "stopped") and part != "engine"]
    assert ends[0] == "orchestrator"


def test_the_control_writer_outlives_the_orchestrator_but_not_the_server(rig: Rig) -> None:
    run_until_live(rig)
    rig.application.stop()
    assert rig.failure is None
    assert rig.noted[-2:] == [("control writer", "disconnected"), ("server", "closed")]


def test_a_stop_keeps_the_live_generation_for_a_resume(rig: Rig) -> None:
    run_until_live(rig)
    rig.application.stop()
    assert rig.failure is None
    assert (rig.generations[1].is_halted, rig.generations[1].ended) == (True, False)


@pytest.mark.parametrize(
    ("step", "opened"),
    [
        ("claim", BEFORE_SPARK),
        ("spark", BEFORE_GENERATIONS),
        ("checkpoints", BEFORE_GENERATIONS),
        ("control topic", BEFORE_GENERATIONS),
        ("changelogs", BEFORE_GENERATIONS),
        ("watch", PARTS[:-2]),
        ("listener", PARTS[:-1]),
        ("connect", PARTS),
    ],
)
def test_a_step_that_fails_closes_what_is_open(rig: Rig, step: str, opened: list[str]) -> None:
    """The error is raised once all is closed, in reverse, and no thread goes on."""
    error = EvertableError(f"The step '{step}' failed.")
    rig.at[step] = failing(error)
    rig.run()
    assert rig.failure is error
    assert rig.opened == opened
    assert rig.closed == opened[::-1]
    assert not any(each.alive for each in rig.orchestrators)
    assert rig.noted[-2:] == [("control writer", "disconnected"), ("server", "closed")]


def test_an_app_that_runs_already_is_not_disturbed(rig: Rig) -> None:
    """Nothing is written, and its generations are neither listed nor deleted."""
    rig.at["claim"] = failing(AppRunningError("The app is already running."))
    rig.run()
    assert isinstance(rig.failure, AppRunningError)
    assert not {"write", "heartbeat", "changelogs"} & {*rig.reached}


def test_a_claim_is_repeated_until_kafka_answers(rig: Rig) -> None:
    rig.at["claim"] = failing(KafkaUnreachableError("Kafka does not answer."))
    rig.run()
    rig.wait_for(lambda: rig.reached.count("claim") > 1)
    del rig.at["claim"]
    rig.wait_for(lambda: rig.application.ready)
    assert "Kafka does not answer." in rig.logs
    assert "Kafka answers now" in rig.logs


def test_without_spark_kafka_is_not_waited_for(rig: Rig) -> None:
    error = EngineError("Spark did not start.")
    rig.at["claim"] = failing(KafkaUnreachableError("Kafka does not answer."))
    rig.at["spark"] = failing(error)
    rig.run()
    assert rig.failure is error
    assert rig.closed == BEFORE_SPARK[::-1]


def test_heartbeats_are_sent_while_spark_starts(rig: Rig) -> None:
    """Spark takes longer to start than an owner may be silent."""
    rig.at["spark"] = rig.block
    rig.run()
    rig.wait_for(lambda: "heartbeat" in rig.reached)
    assert "checkpoints" not in rig.reached


def test_a_generation_that_cannot_be_built_does_not_end_the_app(rig: Rig) -> None:
    """It is reported, and a stop closes all."""
    rig.at["build"] = failing(TopicNotFoundError("There is no topic 'u1'."))
    rig.run()
    rig.wait_for(lambda: "There is no topic 'u1'." in rig.logs)
    rig.wait_for(lambda: rig.generations[1].ended)
    assert not rig.application.ready
    rig.application.stop()
    assert rig.failure is None
    assert rig.closed == PARTS[::-1]


def test_an_orchestrator_that_fails_ends_the_app_and_deletes_nothing(rig: Rig) -> None:
    error = RuntimeError("the server does not answer")
    rig.at["flip"] = failing(error)
    rig.run()
    assert rig.failure is error
    assert ("sweeper", "dropped") in rig.noted
    assert rig.closed == PARTS[::-1]


def test_a_stop_before_the_start_claims_nothing(rig: Rig) -> None:
    rig.application.stop()
    rig.run()
    assert rig.failure is None
    assert "claim" not in rig.reached
    assert rig.closed == rig.opened[::-1] == BEFORE_SPARK[::-1]


@pytest.mark.parametrize("step", ["claim", "checkpoints", "control topic", "changelogs"])
def test_a_stop_ends_a_start_that_waits_for_kafka(rig: Rig, step: str) -> None:
    rig.at[step] = failing(KafkaUnreachableError("Kafka does not answer."))
    rig.run()
    rig.wait_for(lambda: rig.reached.count(step) > 1)
    rig.application.stop()
    assert rig.failure is None
    assert rig.closed == rig.opened[::-1]
    assert rig.generations == {}


@pytest.mark.parametrize(("step", "opened"), [("spark", BEFORE_GENERATIONS), ("build", PARTS)])
def test_a_stop_ends_a_start_whose_step_does_not_return(rig: Rig, step: str, opened: list[str]) -> None:
    """Neither Spark nor a build is waited for."""
    rig.at[step] = rig.block
    rig.run()
    rig.wait_for(lambda: rig.opened == opened and step in rig.reached)
    rig.application.stop()
    assert rig.failure is None
    assert rig.closed == opened[::-1]


def test_all_waits_of_a_stop_share_one_deadline(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if no part answers, nothing is waited for once it is over; here it is over at once."""
    monkeypatch.setattr("evertable.application.Shutdown", lambda: Shutdown(within_s=0.0))
    rig.application = Application(CONFIG, folder=tmp_path)
    run_until_live(rig)
    for step in ("write", "heartbeat", "announce", "leaving", "end"):
        rig.at[step] = rig.block
    rig.application.stop()
    assert rig.failure is None
    assert set(rig.timeouts_s) == {0.0}
    assert {*rig.closed} == {*PARTS}


def test_a_start_that_fails_has_the_same_deadline(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evertable.application.Shutdown", lambda: Shutdown(within_s=0.0))
    rig.application = Application(CONFIG, folder=tmp_path)
    rig.at["claim"] = failing(AppRunningError("The app is already running."))
    rig.run()
    assert isinstance(rig.failure, AppRunningError)
    assert rig.timeouts_s == [0.0]


def test_a_stop_is_announced_while_generations_end(rig: Rig) -> None:
    """A successor waits for it then; watch and listener end meanwhile, too."""
    run_until_live(rig)
    rig.at["end"] = rig.block
    rig.application.stop()
    rig.wait_for(lambda: "announce" in rig.reached and rig.reached.count("leaving") == 2)
    rig.released.set()
    assert rig.failure is None


def test_a_fenced_owner_halts_its_generations_and_raises(rig: Rig) -> None:
    """It deletes nothing, because all belongs to its successor, which waits until the state topic is closed."""
    run_until_live(rig)
    error = FencedError("Another Evertable took over.")
    rig.at["write"] = rig.at["heartbeat"] = failing(error)
    assert rig.failure is error
    assert (rig.generations[1].is_halted, rig.generations[1].ended) == (True, False)
    assert ("sweeper", "dropped") in rig.noted
    assert rig.closed == PARTS[::-1]


def test_the_sweeper_is_closed_when_nothing_is_written_any_more(rig: Rig) -> None:
    """It must not delete a changelog to which Spark writes, nor a generation that the state still names."""
    run_until_live(rig)
    rig.at["heartbeat"] = failing(FencedError("Another Evertable took over."))  # then the orchestrator closes nothing
    assert isinstance(rig.failure, FencedError)
    assert rig.first_closed[:5] == ["listener", "watch", "state writer", "engine", "sweeper"]


def test_an_owner_that_is_fenced_while_spark_starts_raises(rig: Rig) -> None:
    error = FencedError("Another Evertable took over.")
    rig.at["spark"] = rig.block
    rig.at["heartbeat"] = failing(error)
    rig.run()
    assert rig.failure is error
    assert rig.closed == BEFORE_GENERATIONS[::-1]


def test_it_is_ready_once_every_name_has_a_table(rig: Rig) -> None:
    rig.at["build"] = rig.block
    rig.run()
    rig.wait_for(lambda: "build" in rig.reached)
    assert not rig.application.ready
    rig.released.set()
    rig.wait_for(lambda: rig.application.ready)


def test_publications_are_counted_on_after_a_restart(rig: Rig) -> None:
    rig.state = AppState(last_generation=7, publication=40)
    run_until_live(rig)
    assert rig.application.catalog.current.number == 41
    assert list(rig.generations) == [8]


@pytest.mark.parametrize("take_over", [True, False])
def test_only_if_asked_to_it_takes_over(rig: Rig, tmp_path: Path, take_over: bool) -> None:
    rig.application = Application(CONFIG, folder=tmp_path, take_over=take_over)
    run_until_live(rig)
    assert rig.is_taking_over is take_over


def test_control_messages_are_applied_from_where_the_start_has_read(rig: Rig) -> None:
    """Those that came before the start are applied by it, later ones by the listener."""
    rig.unread = [message(3, joinType="inner"), message(4, joinType="natural")]
    run_until_live(rig)
    assert rig.generations[1].wiring.join is JoinType.NATURAL
    [listener] = rig.listeners
    assert (listener.after, listener.topic_id) == ({0: 5}, "id-of-control")
    listener.post(message(5, joinType="asof"), "id-of-control")
    rig.wait_for(lambda: 2 in rig.generations)
    assert rig.generations[2].wiring.join is JoinType.ASOF
    expected = [(3, "superseded"), (4, "applied"), (5, "applied")]
    rig.wait_for(lambda: results(rig) == expected)


def message(offset: int, **fields: str) -> ControlMessage:
    return ControlMessage(0, offset, 1_000 + offset, orjson.dumps(fields))


def results(rig: Rig) -> list[tuple[int, str]]:
    return [(record.offset, record.result) for record in rig.written if isinstance(record, ControlResult)]
