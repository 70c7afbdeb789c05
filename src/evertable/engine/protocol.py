"""The line protocol between the orchestrator's side and the engine's child process: one JSON object a line.

orchestrator                      engine
    │ ── open {master, jars, spark} ──► │   once, first
    │ ◄───────────────────────── ready ─ │
    │ ── start {spec} ────────────────► │
    │ ◄─────────────────────── started ─ │   or failed
    │ ◄─────── progress, failed, slots ─ │   at any time
    │ ── stop {generation} ───────────► │
    │ ◄─────────────────────── stopped ─ │   the query has ended
    │ ◄────────────────────── released ─ │   and its producer is closed: the changelog may be deleted
    │ ── end of input ────────────────► │   the engine stops everything and exits
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson


@dataclass(frozen=True)
class Ready:
    """Spark is up; ``slots`` counts those of the executors that are connected already."""

    spark: str
    slots: int
    shuffle_partitions: int


@dataclass(frozen=True)
class Started:
    generation: int
    query_id: str
    run_id: str


@dataclass(frozen=True)
class EpochCommitted:
    """An epoch was committed; ``left`` and ``right`` map partitions to the offset after the last one read."""

    generation: int
    epoch: int
    left: Mapping[int, int]
    right: Mapping[int, int]


@dataclass(frozen=True)
class Failed:
    """A query ended with an error; ``retriable`` if restarting it from its checkpoint may help."""

    generation: int
    condition: str
    message: str
    retriable: bool


@dataclass(frozen=True)
class TaskSlots:
    """A cluster's executors came or went; ``slots`` counts all task slots, free or not."""

    slots: int


@dataclass(frozen=True)
class Stopped:
    generation: int


@dataclass(frozen=True)
class Released:
    generation: int


@dataclass(frozen=True)
class Died:
    """The child process could not be started, or has ended; raised by the orchestrator's side, never sent."""

    reason: str


EngineEvent = Ready | Started | EpochCommitted | Failed | TaskSlots | Stopped | Released | Died

_WIRE: dict[str, type[Ready | Started | EpochCommitted | Failed | TaskSlots | Stopped | Released]] = {
    "ready": Ready,
    "started": Started,
    "progress": EpochCommitted,
    "failed": Failed,
    "slots": TaskSlots,
    "stopped": Stopped,
    "released": Released,
}
_NAMES: dict[type[EngineEvent], str] = {kind: name for name, kind in _WIRE.items()}


def encode(event: EngineEvent) -> bytes:
    """Encodes an event as a line."""
    return orjson.dumps({"event": _NAMES[type(event)], **asdict(event)}, option=orjson.OPT_NON_STR_KEYS) + b"\n"


def decode(line: bytes) -> EngineEvent:
    """Decodes a line; raises ValueError if it is no event."""
    try:
        fields = orjson.loads(line)
        cls = _WIRE[fields.pop("event")]
        for side in ("left", "right"):
            if side in fields:
                fields[side] = {int(partition): offset for partition, offset in fields[side].items()}
        event: EngineEvent = cls(**fields)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no event of the engine's protocol: {line[:200]!r}") from error
    return event


def command(do: str, **fields: Any) -> bytes:
    """Encodes a command as a line."""
    return orjson.dumps({"do": do, **fields}, option=orjson.OPT_NON_STR_KEYS) + b"\n"
