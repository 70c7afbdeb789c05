"""Events for the orchestrator: from control, workers, feeds, the engine and the topic watch, taken one by one."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from evertable.control.messages import ControlMessage, Resolved
from evertable.engine.protocol import EngineEvent
from evertable.generations.source_events import WatchEvent

Answer = Future[Mapping[str, Any]]


@dataclass(frozen=True)
class Message:
    """A record of the control topic, or a direct request, which is answered through ``answer``."""

    record: ControlMessage
    answer: Answer | None = None
    topic_id: str | None = None
    """The id of the control topic that it was read from."""


@dataclass(frozen=True)
class Checked:
    """Kafka was asked for the topics of a resolved message; ``missing`` is a sentence about those that do not exist."""

    message: Message
    resolved: Resolved
    missing: str


@dataclass(frozen=True)
class Built:
    generation: int
    error: BaseException | None


@dataclass(frozen=True)
class Warm:
    generation: int


@dataclass(frozen=True)
class Quarantined:
    """Keys of a generation have too many matches, which have disappeared from its joined table: it is another one."""

    generation: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Broken:
    """A generation cannot continue."""

    generation: int
    reason: str


@dataclass(frozen=True)
class Ended:
    generation: int
    error: BaseException | None


@dataclass(frozen=True)
class Stop:
    """The orchestrator must stop; ``failure`` says why, if nobody asked for it."""

    failure: Exception | None = None


OrchestratorEvent = Message | Checked | Built | Warm | Quarantined | Broken | Ended | EngineEvent | WatchEvent | Stop
EventQueue = queue.SimpleQueue[OrchestratorEvent]
"""Hands events to the orchestrator, in order. It exists before the orchestrator and all who put events into it."""
