"""The description of one generation's query, in plain values that fit the line protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from evertable.schema.columns import Column, ColumnType, RecordField
from evertable.schema.joins import JoinType

Trigger = Literal["realtime", "microbatch"]


@dataclass(frozen=True)
class SourceSpec:
    """One side of the join; ``backlog_ends`` has the offset after each partition's backlog."""

    name: str
    topic: str
    key: str
    columns: tuple[Column, ...]
    start: Mapping[int, int]
    kafka: Mapping[str, str]  # as the Java client spells them; may hold secrets
    backlog_ends: Mapping[int, int] = field(default_factory=dict)
    max_ahead_ms: int | None = None
    """How far a record's timestamp may be ahead of the clock; None for no limit."""


@dataclass(frozen=True)
class GenerationSpec:
    """One generation's query: both sides, the join, the changelog and the checkpoint."""

    generation: int
    left: SourceSpec
    right: SourceSpec
    join: JoinType
    changelog_topic: str
    changelog_kafka: Mapping[str, str]
    max_message_bytes: int  # of the changelog topic
    checkpoint: str
    trigger: Trigger = "realtime"
    interval_s: int = 300
    readers: int = 1
    """How many tasks read the topics. With one, and one state partition, the query is a single stage."""
    max_matches: int = 1_000_000
    """A key with more matches is quarantined."""
    is_eager: bool = False
    """Whether the first epoch ends at once, because the generation is shown before its backlog is read."""
    throttled_until_ms: int = 0
    """Until this time (epoch milliseconds), the backlog is read slowly enough to leave room for other generations."""

    def slots(self, shuffle_partitions: int) -> int:
        """Counts the task slots that the query holds: in real-time mode all tasks of all stages run at once."""
        if self.trigger == "microbatch":
            return 0  # its tasks are short, and wait for a free slot
        return 1 if (self.readers, shuffle_partitions) == (1, 1) else self.readers + shuffle_partitions


def local_path(checkpoint: str) -> Path | None:
    """Returns a checkpoint's local path, also from a URI (``file:/a``, ``file:///a``); None if it is not local."""
    if checkpoint.startswith("file:"):
        return Path("/" + checkpoint.removeprefix("file:").lstrip("/"))
    return None if "://" in checkpoint else Path(checkpoint)


def to_wire(spec: GenerationSpec) -> dict[str, Any]:
    """Returns the spec as JSON values."""
    wire = asdict(spec)
    for side in ("left", "right"):
        source: SourceSpec = getattr(spec, side)
        wire[side]["columns"] = [[c.name, str(c.type), c.record_field] for c in source.columns]
        for offsets in ("start", "backlog_ends"):
            wire[side][offsets] = {str(partition): offset for partition, offset in wire[side][offsets].items()}
    return wire


def from_wire(wire: Mapping[str, Any]) -> GenerationSpec:
    """Reads what ``to_wire`` returned."""
    sides = {side: _source_from_wire(wire[side]) for side in ("left", "right")}
    return GenerationSpec(**{**wire, **sides, "join": JoinType(wire["join"])})


def _source_from_wire(wire: Mapping[str, Any]) -> SourceSpec:
    columns = tuple(
        Column(name, ColumnType.parse(spelled), RecordField(field) if field else None)
        for name, spelled, field in wire["columns"]
    )
    offsets = {
        name: {int(partition): offset for partition, offset in wire[name].items()} for name in ("start", "backlog_ends")
    }
    return SourceSpec(**{**wire, "columns": columns, **offsets})
