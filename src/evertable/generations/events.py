"""What the orchestrator is told: one event after the other, from control, workers, feeds, the engine and the watch."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from evertable.changelog.resumption import ChangelogEnd
from evertable.control.messages import ControlMessage
from evertable.engine.protocol import EngineEvent
from evertable.generations.source_events import WatchEvent

Answer = Future[Mapping[str, Any]]


@dataclass(frozen=True)
class Message:
    """Someone wants something: a record of the control topic, or a direct wish, answered through ``answer``."""

    record: ControlMessage
    answer: Answer | None = None
    topic_id: str | None = None
    """Of the control topic that it came by."""


@dataclass(frozen=True)
class Built:
    generation: int
    error: Exception | None


@dataclass(frozen=True)
class Warm:
    generation: int


@dataclass(frozen=True)
class Committed:
    """A generation's query has committed an epoch, and then its changelog ended here."""

    generation: int
    end: ChangelogEnd


@dataclass(frozen=True)
class Broken:
    """A generation that cannot go on as it is."""

    generation: int
    reason: str


@dataclass(frozen=True)
class Ended:
    generation: int
    error: Exception | None


@dataclass(frozen=True)
class Stop:
    """``failure``: why it must, though nobody asked for it."""

    failure: Exception | None = None


OrchestratorEvent = Message | Built | Warm | Committed | Broken | Ended | EngineEvent | WatchEvent | Stop
