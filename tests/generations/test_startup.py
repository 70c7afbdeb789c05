"""A start resumes what was live if it can, builds what is wanted otherwise, and leaves no trace of a dead owner."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from tests.generations.cases import OFFSETS, config, identity
from tests.waiting import wait_until

from evertable.config import Config, JoinType
from evertable.control.messages import ControlMessage, FoldedMessages, keys_of
from evertable.errors import KafkaUnreachableError, TopicNotFoundError
from evertable.generations.context import GenerationContext, GenerationCounters
from evertable.generations.control_reading import ControlReading
from evertable.generations.lifecycle import Action, StartBuild
from evertable.generations.retrying import Patience, StoppedError
from evertable.generations.running import RunningGeneration
from evertable.generations.startup import Startup
from evertable.generations.status_tables import GENERATIONS, LOGS, MESSAGES, StatusTables
from evertable.kafka.topics import Topic
from evertable.shutdown import Shutdown
from evertable.state.records import ControlOffset, ControlResult, GenerationRow, LiveRecord
from evertable.state.state import AppState

CONFIG = config()
WIRING = CONFIG.wiring
INNER = replace(WIRING, join=JoinType.INNER)
LIVE = LiveRecord(7, WIRING, identity(), "evertable.demo.g000007", 1, "checkpoint of 7", "created", "published")
STATE = AppState(live=LIVE, last_generation=7)


@pytest.fixture(autouse=True)
def found_ids(monkeypatch: pytest.MonkeyPatch) -> list[str | Exception]:
    """The ids that the source topics have now; an error is raised instead."""
    found: list[str | Exception] = ["id-u", "id-a"]

    def topic_ids(*_: object, **__: object) -> tuple[str | Exception, ...]:
        for each in found:
            if isinstance(each, Exception):
                raise each
        return tuple(found)

    monkeypatch.setattr("evertable.generations.identity.topic_ids", topic_ids)
    monkeypatch.setattr("evertable.generations.retrying.RETRY_S", 0.01)
    return found


@dataclass
class Rig:
    """A start with fakes of Kafka and of the orchestrator."""

    state: AppState = STATE
    config: Config = CONFIG
    reset_wiring: bool = False
    changelogs: set[int] = field(default_factory=lambda: {7})
    checkpoints: set[int] = field(default_factory=lambda: {7})
    adopted: list[RunningGeneration] = field(default_factory=list)
    recalled: list[FoldedMessages] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    shutdown: Shutdown = field(default_factory=Shutdown)

    def __post_init__(self) -> None:
        self.status_tables = StatusTables(keys_of(self.config), lambda: None)
        report = self.status_tables.report
        topics: Any = SimpleNamespace(list=lambda: set(self.changelogs), delete=self.delete)
        checkpoints: Any = SimpleNamespace(
            of=lambda number: f"checkpoint of {number}",
            generations=lambda: sorted(self.checkpoints),
            delete=self.checkpoints.discard,
        )
        engine: Any = None
        counters = GenerationCounters(lambda *_: None)
        self.context = GenerationContext(
            self.config, topics, engine, checkpoints, lambda: None, counters, lambda event: None, report
        )
        state_topic: Any = SimpleNamespace(forget=lambda *keys: self.forgotten.extend(keys))
        patience = Patience(self.shutdown, report)
        self.startup = Startup(self.context, self.state, state_topic, self.status_tables, patience, self.reset_wiring)

    def delete(self, generation: int) -> None:
        self.deleted.append(generation)
        self.changelogs.discard(generation)

    def recall(self, folded: FoldedMessages, _: str | None) -> tuple[int, int] | None:
        self.recalled.append(folded)
        return next(((record.partition, record.offset) for record, _ in reversed(folded.resolutions)), None)

    def first_actions(self, *messages: ControlMessage) -> list[Action]:
        self.life = self.startup.lifecycle()
        orchestrator: Any = SimpleNamespace(messages=self, adopt=self.adopted.append)
        return self.startup.first_actions(self.life, ControlReading(messages=messages), orchestrator)

    @property
    def logs(self) -> str:
        return str(self.status_tables.tables[LOGS].rows())

    @property
    def states(self) -> dict[int, str]:
        """The state of each generation in the operators' table."""
        return {row[0]: row[4] for row in self.status_tables.tables[GENERATIONS].rows()}


def swap_to(join: str) -> ControlMessage:
    return ControlMessage(0, 5, 1_000, orjson.dumps({"joinType": join}))


def test_the_first_start_builds_the_configured_wiring() -> None:
    rig = Rig(state=AppState(), changelogs=set(), checkpoints=set())
    assert rig.first_actions() == [StartBuild(1, WIRING)]
    assert rig.adopted == []


def test_what_was_live_is_resumed_from_the_same_offsets() -> None:
    rig = Rig()
    assert rig.first_actions() == [StartBuild(7, WIRING, resumed=True)]
    [running] = rig.adopted
    assert (running.number, running.wiring, running.start_offsets) == (7, WIRING, OFFSETS)
    assert running.created == "created"


def test_a_wiring_that_was_swapped_to_is_resumed_although_another_is_configured() -> None:
    live = replace(LIVE, wiring=INNER, identity=identity(join="inner"))
    rig = Rig(state=replace(STATE, live=live))
    assert rig.first_actions() == [StartBuild(7, INNER, resumed=True)]


def test_a_swap_that_came_meanwhile_is_built() -> None:
    """Its message is settled by that build."""
    rig = Rig()
    assert rig.first_actions(swap_to("inner")) == [StartBuild(8, INNER)]
    assert rig.adopted == []
    assert rig.life.generations[8].requests == [(0, 5)]


def test_messages_that_lead_back_to_what_was_live_resume_it() -> None:
    rig = Rig()
    messages = swap_to("inner"), replace(swap_to("left"), offset=6)
    assert rig.first_actions(*messages) == [StartBuild(7, WIRING, resumed=True)]
    assert rig.life.generations[7].requests == [(0, 6)]


def test_a_reset_builds_the_configured_wiring() -> None:
    """That is so even if it was live: the reset is a way out of a generation that is damaged."""
    rig = Rig(reset_wiring=True)
    assert rig.first_actions() == [StartBuild(8, WIRING)]
    swapped = Rig(state=replace(STATE, live=replace(LIVE, wiring=INNER)), reset_wiring=True)
    assert swapped.first_actions() == [StartBuild(8, WIRING)]


def remove_changelog(rig: Rig) -> None:
    rig.changelogs.clear()


def remove_checkpoint(rig: Rig) -> None:
    rig.checkpoints.clear()


def move_checkpoints(rig: Rig) -> None:
    rig.startup.state = replace(STATE, live=replace(LIVE, checkpoint="elsewhere"))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (remove_changelog, "Its changelog 'evertable.demo.g000007' is gone."),
        (remove_checkpoint, "Its checkpoint 'checkpoint of 7' is gone."),
        (move_checkpoints, "Its checkpoint 'elsewhere' is gone."),
    ],
)
def test_what_is_not_there_any_more_is_built_anew(damage: Callable[[Rig], None], reason: str) -> None:
    """The log says why."""
    rig = Rig()
    damage(rig)
    assert rig.first_actions() == [StartBuild(8, WIRING)]
    assert rig.adopted == []
    assert f"Generation 7 is not resumed: {reason}" in rig.logs


def test_changed_columns_are_built_anew() -> None:
    rig = Rig(config=config(users={"columns": {"userId": "string"}}))
    assert rig.first_actions() == [StartBuild(8, WIRING)]
    assert "Generation 7 is not resumed: The left source was users by userId" in rig.logs


def test_a_recreated_source_topic_is_built_anew(found_ids: list[str | Exception]) -> None:
    found_ids[1] = "another id"
    rig = Rig()
    assert rig.first_actions() == [StartBuild(8, WIRING)]
    assert "The topic 'a1' was deleted and recreated" in rig.logs


def test_a_missing_source_topic_is_no_reason_to_wait(found_ids: list[str | Exception]) -> None:
    """The build reports it, and tries again."""
    found_ids[0] = TopicNotFoundError("There is no topic 'u1'.")
    rig = Rig()
    assert rig.first_actions() == [StartBuild(8, WIRING)]
    assert "Generation 7 is not resumed: [TOPIC_NOT_FOUND] There is no topic 'u1'." in rig.logs


def test_an_outage_is_waited_for_and_not_taken_for_an_obstacle(found_ids: list[str | Exception]) -> None:
    """A generation that can be resumed is not built again just because Kafka does not answer at once."""
    found_ids[0] = KafkaUnreachableError("Kafka does not answer.")
    rig = Rig()
    resuming: list[Action] = []
    thread = threading.Thread(target=lambda: resuming.extend(rig.first_actions()))
    thread.start()
    try:
        wait_until(lambda: "Kafka does not answer. Trying again." in rig.logs)
        found_ids[0] = "id-u"
        thread.join()
    finally:
        rig.shutdown.begin()
    assert resuming == [StartBuild(7, WIRING, resumed=True)]


@pytest.mark.parametrize(
    ("state", "left_behind", "expected"),
    [
        (AppState(), set(), 1),
        (AppState(last_generation=4), set(), 5),
        (AppState(last_generation=4, generations=(GenerationRow(9, WIRING, "failed", ""),)), set(), 10),
        (AppState(last_generation=4), {12, 3}, 13),
    ],
)
def test_generations_are_numbered_behind_all_there_have_been(
    state: AppState, left_behind: set[int], expected: int
) -> None:
    """Those count that the state names, and those of which a changelog or a checkpoint is left."""
    for changelogs, checkpoints in ((left_behind, set[int]()), (set[int](), left_behind)):
        rig = Rig(state=state, changelogs={*changelogs}, checkpoints={*checkpoints})
        assert rig.first_actions() == [StartBuild(expected, WIRING)]


def test_a_rollback_goes_to_what_was_live_before_the_restart() -> None:
    rig = Rig(state=replace(STATE, previous=INNER))
    assert rig.startup.lifecycle().previous == INNER


def test_sources_of_other_names_drop_the_remembered_wiring() -> None:
    """Topics of other sources mean nothing to the configuration, neither as live nor as previous wiring."""
    was = identity()
    others = replace(was, left=replace(was.left, name="persons"))
    rig = Rig(state=replace(STATE, live=replace(LIVE, identity=others, wiring=INNER), previous=INNER))
    rig.startup.drop_other_sources()
    assert rig.first_actions() == [StartBuild(8, WIRING)]
    assert rig.life.previous is None
    assert rig.forgotten == ["previous"]
    assert "the last live generation joined 'persons' and 'accounts'" in rig.logs


def test_sources_of_the_same_names_keep_it() -> None:
    rig = Rig(state=replace(STATE, previous=INNER))
    rig.startup.drop_other_sources()
    assert rig.first_actions() == [StartBuild(7, WIRING, resumed=True)]
    assert rig.life.previous == INNER
    assert rig.forgotten == []


def test_generations_of_a_dead_owner_are_retired() -> None:
    """Those that are kept and those that were retired in time stay as they are."""
    retired = GenerationRow(5, WIRING, "retired", "c", retired="earlier")
    rows = retired, GenerationRow(6, WIRING, "lingering", "c"), GenerationRow(7, WIRING, "live", "c")
    rig = Rig(state=replace(STATE, generations=rows))
    rig.startup.show_history()
    assert rig.states == {5: "retired", 6: "lingering", 7: "live"}
    [closed] = rig.startup.close_history([7, 8])
    assert (closed.generation, closed.state, closed.reason) == (6, "retired", "not resumed by the next start")
    assert closed.retired
    assert rig.states == {5: "retired", 6: "retired", 7: "live"}


def test_a_live_generation_without_a_row_is_retired_unless_it_is_kept() -> None:
    """Its owner died before it wrote one."""
    [closed] = Rig().startup.close_history([8])
    assert (closed.generation, closed.wiring, closed.state) == (7, WIRING, "retired")
    assert (closed.created, closed.published) == ("created", "published")
    assert Rig().startup.close_history([7]) == []


def test_only_what_is_kept_is_not_deleted() -> None:
    rig = Rig(changelogs={5, 7}, checkpoints={6, 7})
    rig.startup.clean_up([7])
    assert sorted(rig.deleted) == [5, 6]
    assert (rig.changelogs, rig.checkpoints) == ({7}, {7})


def test_after_the_shutdown_has_begun_nothing_is_deleted() -> None:
    """What is left may belong to a successor by then."""
    rig = Rig(changelogs={5, 7})
    rig.shutdown.begin()
    with pytest.raises(StoppedError):
        rig.startup.clean_up([7])
    assert rig.deleted == []


def test_a_shutdown_between_two_deletions_prevents_the_second() -> None:
    rig = Rig(changelogs={5, 6, 7})
    rig.checkpoints = set()
    delete = rig.delete

    def delete_and_stop(generation: int) -> None:
        delete(generation)
        rig.shutdown.begin()

    rig.context.topics.delete = delete_and_stop  # type: ignore[method-assign]
    with pytest.raises(StoppedError):
        rig.startup.clean_up([7])
    assert len(rig.deleted) == 1


def read_control(rig: Rig) -> ControlReading:
    topic: Any = SimpleNamespace(
        name=CONFIG.control.topic,
        ensure=lambda: None,
        describe=lambda: Topic("id", (0,)),
        positions=lambda after, from_end: {0: after.get(0, 0)},
        read_all=lambda positions: [swap_to("inner")],
    )
    writer: Any = None
    return rig.startup.read_control(topic, writer)


def remembering(topic_id: str) -> AppState:
    """Returns the state of an app that has read a control topic of that id up to offset 5."""
    result = ControlResult(0, 4, 900, {"joinType": "left"}, "applied")
    offset = ControlOffset(0, 5, topic_id, str(CONFIG.control.topic))
    return replace(STATE, control={0: offset}, control_results=(result,))


def test_the_control_topic_is_read_from_where_the_last_owner_was() -> None:
    """Its results are shown again."""
    rig = Rig(state=remembering("id"))
    reading = read_control(rig)
    assert [(each.partition, each.next, each.topic_id) for each in reading.offsets] == [(0, 5, "id")]
    assert [each.offset for each in reading.messages] == [5]
    rig.startup.show_history()
    assert [row[4:7] for row in rig.status_tables.tables[MESSAGES].rows()] == [(0, 4, "applied")]
    assert rig.forgotten == []


def test_results_of_another_control_topic_are_forgotten() -> None:
    """Their offsets mean other messages now."""
    rig = Rig(state=remembering("id of the former"))
    assert read_control(rig).is_another_topic
    rig.startup.show_history()
    assert rig.status_tables.tables[MESSAGES].rows() == []
    assert rig.forgotten == ["verdict/0/4"]
