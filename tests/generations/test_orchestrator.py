"""The orchestrator with fakes of its own ports: no Kafka, no Spark, no server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pytest
from tests.generations.fake_generation import FakeGeneration
from tests.waiting import wait_until

from evertable.config import Config, JoinType, Swap
from evertable.control.messages import ControlMessage, keys_of
from evertable.errors import NotReadyError
from evertable.generations.context import GenerationContext, GenerationCounters
from evertable.generations.events import Answer, Broken, Built, EventQueue, Message
from evertable.generations.lifecycle import Lifecycle
from evertable.generations.orchestrator import Orchestrator, Ports
from evertable.generations.overview import CurrentOverview
from evertable.generations.status_tables import LOGS, STATUS, StatusTables
from evertable.schema.wiring import Wiring
from evertable.shutdown import Shutdown
from evertable.state.records import ControlOffset, ControlResult, Record
from evertable.state.state import AppState

FIRST = Wiring("users_v1", "accounts_v1", JoinType.LEFT)
CONFIG = Config.model_validate(
    {
        "kafka": {"bootstrap.servers": "localhost:9092"},
        "sources": {
            "users": {"topic": "users_v1", "key": "userId", "columns": {"userId": "string"}},
            "accounts": {"topic": "accounts_v1", "key": "userId", "columns": {"userId": "string"}},
        },
        "join": {"type": "left"},
    }
)


@dataclass
class Rig:
    """An orchestrator and what it did to its ports."""

    events: EventQueue = field(default_factory=EventQueue)
    shutdown: Shutdown = field(default_factory=Shutdown)
    status_tables: StatusTables = field(default_factory=lambda: StatusTables(keys_of(CONFIG), lambda: None))
    written: list[Record] = field(default_factory=list)
    published: list[int] = field(default_factory=list)
    generations: dict[int, FakeGeneration] = field(default_factory=dict)
    may_publish: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)
    asked: list[Wiring] = field(default_factory=list)
    missing: str = ""

    def __post_init__(self) -> None:
        self.may_publish.set()
        self.may_answer.set()
        nothing: Any = _Nothing()
        self.overview = CurrentOverview(nothing)
        counters = GenerationCounters(lambda *_: None)
        post, report = self.events.put, self.status_tables.report
        context = GenerationContext(CONFIG, nothing, nothing, nothing, lambda: None, counters, post, report)
        writer: Any = self
        ports = Ports(
            events=self.events,
            overview=self.overview,
            status_tables=self.status_tables,
            state_writer=writer,
            watch=nothing,
            sweep=lambda number: None,
            find_missing=self.find_missing,
            publish=self.publish,
            new_generation=self.new_generation,
            shutdown=self.shutdown,
        )
        life = Lifecycle(Swap(linger_s=0))
        self.orchestrator = Orchestrator(context, life, ports, AppState())
        self.first = life.want(FIRST, 0.0)

    def write(self, *records: Record) -> None:
        self.written += records

    def flush(self, _: float) -> bool:
        return True

    def find_missing(self, wiring: Wiring) -> str:
        self.asked.append(wiring)
        self.may_answer.wait(60)
        return self.missing

    def publish(self, generation: int, _: Mapping[str, Any], also: Callable[[], None]) -> None:
        self.may_publish.wait(60)
        self.published.append(generation)
        also()

    def new_generation(self, number: int, wiring: Wiring) -> Any:
        self.generations[number] = FakeGeneration(number, wiring)
        return self.generations[number]

    def send(self, offset: int, answer: Answer | None = None, **message: str) -> None:
        self.events.put(Message(ControlMessage(0, offset, 1_000, orjson.dumps(message)), answer))

    @property
    def results(self) -> list[tuple[int, str]]:
        return [(record.offset, record.result) for record in self.written if isinstance(record, ControlResult)]

    @property
    def next_offsets(self) -> list[int]:
        return [record.next for record in self.written if isinstance(record, ControlOffset)]

    @property
    def status(self) -> tuple[Any, ...]:
        return self.status_tables.tables[STATUS].rows()[0]


class _Nothing:
    """Stands for parts that do nothing: an engine without queries, a watch without topics."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **named: {}


@contextmanager
def running() -> Iterator[Rig]:
    rig = Rig()
    rig.orchestrator.start(rig.first)
    try:
        wait_until(lambda: rig.published == [1], "the first generation")
        yield rig
    finally:
        rig.may_publish.set()
        rig.may_answer.set()
        rig.orchestrator.stop()
        assert not rig.orchestrator.alive
        assert rig.orchestrator.failure is None


def test_a_message_is_applied_once_its_generation_is_shown() -> None:
    with running() as rig:
        rig.send(0, joinType="inner")
        wait_until(lambda: rig.results == [(0, "applied")])
        assert rig.published == [1, 2]
        assert rig.generations[2].wiring == Wiring("users_v1", "accounts_v1", JoinType.INNER)
        wait_until(lambda: rig.generations[1].ended)
        assert rig.asked == []  # both topics are live already


def test_while_kafka_is_asked_for_topics_events_are_taken_and_messages_keep_their_order() -> None:
    with running() as rig:
        rig.may_answer.clear()
        rig.send(0, usersTopic="users_v2")
        rig.send(1, joinType="nonsense")
        wait_until(lambda: rig.asked == [replace(FIRST, left_topic="users_v2")])
        rig.events.put(Broken(1, "its changelog is gone"))
        wait_until(lambda: "its changelog is gone" in str(rig.status_tables.tables[LOGS].rows()))  # taken meanwhile
        assert rig.results == []
        rig.may_answer.set()
        wait_until(lambda: len(rig.results) == 2)
        assert sorted(rig.results) == [(0, "applied"), (1, "rejected")]
        assert rig.next_offsets[-1] == 2


def test_a_restart_reads_messages_again_that_are_being_checked() -> None:
    """The result of an earlier message must not move the offset behind one that is not decided yet."""
    with running() as rig:
        rig.may_publish.clear()
        rig.send(0, joinType="inner")
        wait_until(lambda: 2 in rig.generations)
        rig.may_answer.clear()
        rig.may_publish.set()
        rig.send(1, usersTopic="users_v2")
        wait_until(lambda: rig.asked)
        wait_until(lambda: (0, "applied") in rig.results)
        assert rig.next_offsets[-1] == 1


def test_a_message_with_a_missing_topic_is_rejected_and_builds_nothing() -> None:
    with running() as rig:
        rig.missing = "Kafka has no topic 'users_v9'."
        rig.send(0, usersTopic="users_v9")
        wait_until(lambda: rig.results == [(0, "rejected")])
        assert list(rig.generations) == [1]
        assert rig.status[-3] == "live"


def test_a_check_that_fails_says_nothing_against_the_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    with running() as rig:

        def fail(_: Wiring) -> str:
            raise OSError("no route")

        monkeypatch.setattr(rig.orchestrator.messages, "_find_missing", fail)
        rig.send(0, usersTopic="users_v2")
        wait_until(lambda: rig.results == [(0, "applied")])


def test_nothing_is_shown_or_ended_before_viewers_see_the_new_generation() -> None:
    """While the names are being flipped, events wait, and the status is that of the generation on show."""
    with running() as rig:
        rig.may_publish.clear()
        rig.send(0, joinType="inner")
        wait_until(lambda: 2 in rig.generations and rig.generations[2].is_warm)
        wait_until(lambda: rig.generations[2].published)
        rig.send(1, joinType="natural")
        rig.events.put(Built(2, None))
        assert rig.results == []
        assert not rig.generations[1].ended
        assert rig.status[4] == 1
        overview = rig.overview.snapshot
        assert overview is not None
        assert overview.live is not None
        assert overview.live.number == 1
        rig.may_publish.set()
        wait_until(lambda: rig.results == [(0, "applied"), (1, "applied")])
        assert rig.published == [1, 2, 3]


def test_a_flip_that_fails_ends_the_orchestrator_with_its_reason() -> None:

    class Failing(Rig):
        def publish(self, *_: Any) -> None:
            raise TimeoutError("the server does not answer")

    rig = Failing()
    rig.orchestrator.start(rig.first)
    wait_until(lambda: not rig.orchestrator.alive)
    assert isinstance(rig.orchestrator.failure, TimeoutError)


def test_a_stop_ends_while_a_topic_is_checked_and_a_direct_request_is_answered() -> None:
    with running() as rig:
        rig.may_answer.clear()
        answer: Answer = Future()
        rig.send(0, usersTopic="users_v2")
        rig.send(1, answer, usersTopic="users_v3")
        wait_until(lambda: rig.asked)
        rig.orchestrator.stop()
        assert not rig.orchestrator.alive
        with pytest.raises(NotReadyError):
            answer.result(30)


def test_any_thread_may_read_the_overview_while_generations_come_and_go() -> None:
    """Readers once iterated over the orchestrator's own dictionary while it changed."""
    with running() as rig:
        failures: list[Exception] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                try:
                    assert rig.overview.flow is not None
                    assert rig.overview.lag == {}
                except Exception as error:
                    failures.append(error)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for offset in range(30):
            rig.send(offset, joinType=("inner", "left")[offset % 2])
            wait_until(lambda offset=offset: rig.results[-1:] == [(offset, "applied")])  # type: ignore[misc]
        done.set()
        for reader in readers:
            reader.join()
        assert failures == []
        assert any("published" in row[-1] for row in rig.status_tables.tables[LOGS].rows())
