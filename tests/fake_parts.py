"""Fakes of everything through which an application reaches Kafka, Spark and the network. They note what happens."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.generations.cases import config
from tests.generations.fake_generation import FakeGeneration
from tests.waiting import wait_until

from evertable.application import Application
from evertable.background import run_in_background
from evertable.control.messages import ControlMessage
from evertable.errors import EngineError
from evertable.generations.orchestrator import Orchestrator
from evertable.generations.state_writer import StateWriter
from evertable.generations.status_tables import DEAD_LETTERS, LOGS
from evertable.generations.sweeper import Sweeper
from evertable.kafka.topics import Topic
from evertable.schema.columns import parse_columns
from evertable.schema.wiring import Wiring
from evertable.server.app import App
from evertable.shutdown import Shutdown
from evertable.state.records import Record
from evertable.state.state import AppState
from evertable.tables.bounded import BoundedTable

CONFIG = config()
Step = Callable[[], object]


class Rig:
    """An application on fakes, the steps at which tests interfere, and what happened.

    ``at[step]`` is called at each step: it does nothing, blocks until ``released``, or raises.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at: dict[str, Step] = defaultdict(lambda: lambda: None)
        self.reached: list[str] = []
        self.noted: list[tuple[str, str]] = []
        """What happened to each part, in order."""
        self.timeouts_s: list[float] = []
        self.released = threading.Event()
        self.state = AppState()
        self.unread: list[ControlMessage] = []
        self.written: list[Record] = []
        self.is_taking_over = False
        self.urls: list[str] = []
        self.changelogs = FakeChangelogs(self)
        self.generations: dict[int, FakeGeneration] = {}
        self.listeners: list[FakeListener] = []
        self.orchestrators: list[Orchestrator] = []
        self.ended: Future[None] | None = None
        self._install(monkeypatch)
        self.application = Application(CONFIG, folder=folder, on_up=self.urls.append)

    def _install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fakes: dict[str, object] = {
            "serving": self._serving,
            "StateTopic": FakeStateTopics(self),
            "Engine": partial(FakeEngine, self),
            "topic_id": self._topic_id,
            "changelog_topics": lambda configuration: self.changelogs,
            "ControlTopic": partial(FakeControlTopic, self),
            "Writer": partial(FakeWriter, self),
            "ControlListener": partial(FakeListener, self),
            "TopicWatch": partial(FakeWatch, self),
            "StateWriter": partial(NotedStateWriter, self),
            "Sweeper": partial(NotedSweeper, self),
            "Orchestrator": partial(NotedOrchestrator, self),
            "RunningGeneration": self._new_generation,
        }
        for name, fake in fakes.items():
            monkeypatch.setattr(f"evertable.application.{name}", fake)
        monkeypatch.setattr("evertable.generations.retrying.RETRY_S", 0.01)

    def run(self) -> None:
        """Starts to run the application in an event loop of its own."""
        self.ended = run_in_background(lambda: asyncio.run(self.application.run()))

    def wait_for(self, done: Callable[[], object], what: str = "what the test waits for") -> None:
        """Waits while the application runs; fails if it ends."""
        ended = self.ended
        assert ended is not None
        wait_until(lambda: done() or ended.done(), lambda: f"{what}; {self.reached}; {self.logs}")
        assert done(), f"it ended before {what}: {ended.exception()!r}"

    @property
    def failure(self) -> BaseException | None:
        """Waits for the end of the application, and returns why it ended; None if it was stopped."""
        ended = self.ended
        assert ended is not None
        wait_until(ended.done, lambda: f"the end; {self.noted}")
        return ended.exception()

    def reach(self, step: str) -> None:
        self.reached.append(step)
        self.at[step]()

    def block(self) -> None:
        self.released.wait()

    def note(self, part: str, what: str) -> None:
        self.noted.append((part, what))

    @property
    def opened(self) -> list[str]:
        """The parts in the order in which they were opened."""
        return [part for part, what in self.noted if what == "opened"]

    @property
    def closed(self) -> list[str]:
        """The parts in the order in which they were closed; of each only the last time counts."""
        latest_first = dict.fromkeys(part for part, what in reversed(self.noted) if what == "closed")
        return [*latest_first][::-1]

    @property
    def first_closed(self) -> list[str]:
        """The same, where of each part only the first time counts."""
        return [*dict.fromkeys(part for part, what in self.noted if what == "closed")]

    @property
    def logs(self) -> str:
        table = self.application.catalog.current.tables[LOGS]
        assert isinstance(table, BoundedTable)
        return str(table.rows())

    @asynccontextmanager
    async def _serving(self, app: App, _: object) -> AsyncIterator[str]:
        async with app.router.lifespan_context(app):
            self.note("server", "opened")
            try:
                yield "http://fake"
            finally:
                self.note("server", "closed")

    def _topic_id(self, *_: object) -> str:
        self.reach("checkpoints")
        return "id-of-state"

    def _new_generation(self, _: object, number: int, wiring: Wiring) -> Any:
        self.generations[number] = ShownGeneration(self, number, wiring)
        return self.generations[number]


class FakeStateTopics:
    """Stands for the class ``StateTopic``, of which it makes one."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    def of(self, _: object, __: Shutdown, address: str) -> FakeStateTopic:
        assert address == "http://fake"
        self._rig.note("state topic", "opened")
        return FakeStateTopic(self._rig)


class FakeStateTopic:
    topic = "evertable.fake.state"

    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    def open(self, *, take_over: bool) -> AppState:
        self._rig.is_taking_over = take_over
        self._rig.reach("claim")
        return self._rig.state

    def write(self, *records: Record) -> None:
        self._rig.reach("write")
        self._rig.written += records

    def forget(self, *keys: str) -> None:
        assert keys == ()  # there are no results of earlier messages

    def heartbeat(self) -> None:
        self._rig.reach("heartbeat")

    def announce_leaving(self) -> None:
        self._rig.reach("announce")

    def close(self) -> None:
        self._rig.note("state topic", "closed")


class FakeEngine:
    """Spark that starts at once, unless the step ``spark`` blocks or raises."""

    def __init__(self, rig: Rig, _: object) -> None:
        self._rig = rig
        self._is_closed = False
        rig.note("engine", "opened")

    def open(self) -> None:
        self._rig.reach("spark")
        if self._is_closed:
            raise EngineError("Spark did not start: it was closed while it was starting.")

    def listen(self, _: object) -> None: ...

    def restart(self, _: int) -> None: ...

    def wait_released(self, _: int) -> bool:
        return True

    def close(self, timeout_s: float) -> None:
        self._is_closed = True
        self._rig.timeouts_s.append(timeout_s)
        self._rig.note("engine", "closed")


class FakeChangelogs:
    """The changelogs that exist, by generation."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self.existing: set[int] = set()

    def list(self) -> set[int]:
        self._rig.reach("changelogs")
        return set(self.existing)

    def delete(self, generation: int) -> None:
        self.existing.discard(generation)


class FakeControlTopic:
    """A control topic of one partition, which was read up to offset 3."""

    def __init__(self, rig: Rig, _: object, name: str) -> None:
        self._rig = rig
        self.name = name

    def ensure(self) -> None:
        self._rig.reach("control topic")

    def describe(self) -> Topic:
        return Topic("id-of-control", (0,))

    def positions(self, *_: object, **__: object) -> dict[int, int]:
        return {0: 3}

    def read_all(self, _: Mapping[int, int]) -> Sequence[ControlMessage]:
        return self._rig.unread


class FakeWriter:
    def __init__(self, rig: Rig, _: object) -> None:
        self._rig = rig

    def connect(self) -> None:
        self._rig.reach("connect")
        self._rig.note("control writer", "connected")

    def close(self) -> None:
        self._rig.note("control writer", "disconnected")


class FakeListener:
    def __init__(self, rig: Rig, _: object, after: Mapping[int, int], post: Any, __: object, topic_id: str) -> None:
        self._rig = rig
        self.after, self.post, self.topic_id = after, post, topic_id
        rig.listeners.append(self)

    def start(self) -> None:
        self._rig.reach("listener")
        self._rig.note("listener", "opened")

    def close(self, timeout_s: float | None = None) -> None:
        _close(self._rig, "listener", timeout_s)


class FakeWatch:
    def __init__(self, rig: Rig, _: object) -> None:
        self._rig = rig

    def start(self) -> None:
        self._rig.reach("watch")
        self._rig.note("watch", "opened")

    def remove(self, _: int) -> None: ...

    def lag(self, _: int) -> dict[tuple[str, int], int]:
        return {}

    def close(self, timeout_s: float | None = None) -> None:
        _close(self._rig, "watch", timeout_s)


def _close(rig: Rig, part: str, timeout_s: float | None) -> None:
    """Notes that a part is closed, or without a timeout that it is asked to: that is not waited for."""
    if timeout_s is None:
        rig.reach("leaving")
    else:
        rig.timeouts_s.append(timeout_s)
        rig.note(part, "closed")


class NotedStateWriter(StateWriter):
    def __init__(self, rig: Rig, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._rig = rig

    def start(self) -> None:
        super().start()
        self._rig.note("state writer", "opened")

    def close(self) -> None:
        super().close()
        self._rig.note("state writer", "closed")


class NotedSweeper(Sweeper):
    def __init__(self, rig: Rig, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._rig = rig

    def start(self) -> None:
        super().start()
        self._rig.note("sweeper", "opened")

    def drop(self) -> None:
        super().drop()
        self._rig.note("sweeper", "dropped")

    def close(self, timeout_s: float = 2.0) -> None:
        self._rig.timeouts_s.append(timeout_s)
        super().close(timeout_s)
        self._rig.note("sweeper", "closed")


class NotedOrchestrator(Orchestrator):
    def __init__(self, rig: Rig, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._rig = rig
        rig.orchestrators.append(self)

    def stop(self) -> None:
        super().stop()
        self._rig.note("orchestrator", "stopped")


class ShownGeneration(FakeGeneration):
    """A generation that has a table for each public name, and takes the steps ``build``, ``flip`` and ``end``."""

    def __init__(self, rig: Rig, number: int, wiring: Wiring) -> None:
        super().__init__(number, wiring)
        self._rig = rig

    def build(self) -> None:
        self._rig.reach("build")
        super().build()

    @property
    def public_tables(self) -> Mapping[str, Any]:
        self._rig.reach("flip")
        names = [CONFIG.table_of(CONFIG.left), CONFIG.table_of(CONFIG.right), CONFIG.joined_table, DEAD_LETTERS]
        return {name: BoundedTable(parse_columns({"userId": "string"}), 1) for name in names}

    def halt(self) -> None:
        self._rig.reach("end")
        super().halt()

    def end(self) -> None:
        self._rig.reach("end")
        super().end()
