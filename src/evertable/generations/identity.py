"""What makes a generation that one and no other: its topics, where they were begun, and the layout of its rows.

A generation that ran before is resumed only if it would be built the same way now. Topics are told apart by the ids
that Kafka gives them, for a topic that was deleted and made again has the same name and other records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from evertable.changelog.schema import VERSION
from evertable.config import Config, Source
from evertable.engine.spec import GenerationSpec

ENGINE_FORMAT = 2
"""Of what the keyed operator keeps in its state; another number makes old checkpoints useless."""


@dataclass(frozen=True)
class SourceIdentity:
    """One source: its topic, the topic's id (None where Kafka tells none), and where its reading began."""

    topic: str
    topic_id: str | None
    start: str
    """As configured: ``earliest``, ``latest`` or a time."""
    offsets: Mapping[int, int]
    """What that meant, for each partition there was at the build."""
    name: str = ""
    """The source's; empty in records of earlier versions."""


@dataclass(frozen=True)
class Identity:
    """Of one generation; ``layout`` holds columns, keys, join and formats as readable texts."""

    left: SourceIdentity
    right: SourceIdentity
    layout: Mapping[str, str]

    @property
    def sources(self) -> tuple[str, str] | None:
        """The names of both sources; None if they are unknown."""
        left, right = (
            source.name or self.layout.get(f"{side} source", "").partition(" by ")[0]
            for side, source in (("left", self.left), ("right", self.right))
        )
        return (left, right) if left and right else None

    @property
    def fingerprint(self) -> str:
        """The layout as one short hash."""
        text = json.dumps(dict(self.layout), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def identity_of(
    config: Config, ids: tuple[str | None, str | None], offsets: tuple[Mapping[int, int], Mapping[int, int]]
) -> Identity:
    """The identity of a generation that is built from ``config``, which has the generation's wiring.

    ``ids`` are the topics' (:func:`evertable.generations.topic_ids.topic_ids`), asked for *before* the build looked at
    them: a topic that is made anew in between then looks changed rather than the same. ``offsets`` are those at which
    the sources begin (:func:`offsets_of`); to look whether a generation can be resumed, the remembered ones.
    """
    left, right = (
        SourceIdentity(source.topic, topic_id, str(source.start), dict(begin), source.name)
        for source, topic_id, begin in zip((config.left, config.right), ids, offsets, strict=True)
    )
    return Identity(left, right, _layout(config))


def offsets_of(spec: GenerationSpec) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """The offsets at which both sources begin."""
    return spec.left.start, spec.right.start


def mismatch(remembered: Identity, now: Identity) -> str | None:
    """A sentence about the first thing that differs; None if the remembered generation can be resumed.

    An id that Kafka did not tell, then or now, cannot differ; the offsets are what they were.
    """
    for was, is_ in ((remembered.left, now.left), (remembered.right, now.right)):
        if was.topic != is_.topic:
            return f"The topic was '{was.topic}' and is '{is_.topic}'."
        if was.topic_id and is_.topic_id and was.topic_id != is_.topic_id:
            return (
                f"The topic '{is_.topic}' was deleted and made again: its id was {was.topic_id} and is {is_.topic_id}."
            )
        if was.start != is_.start:
            return f"The start of '{is_.topic}' was {was.start} and is {is_.start}."
    for name in {**remembered.layout, **now.layout}:
        before, after = (each.layout.get(name, "unknown") for each in (remembered, now))
        if before != after:
            return f"The {name} was {before} and is {after}."
    return None


def to_json(identity: Identity) -> dict[str, Any]:
    """The identity as JSON values."""
    values: dict[str, Any] = _JSON.dump_python(identity, mode="json")
    return values


def from_json(values: Mapping[str, Any]) -> Identity:
    """The identity that ``to_json`` wrote; ValueError where it did not."""
    return _JSON.validate_python(values)


_JSON = TypeAdapter(Identity)


def _layout(config: Config) -> dict[str, str]:
    return {
        "join": config.join.type.value,
        "left source": _columns(config.left),
        "right source": _columns(config.right),
        "trigger": config.engine.trigger.value,
        "changelog format": str(VERSION),
        "engine format": str(ENGINE_FORMAT),
    }


def _columns(source: Source) -> str:
    columns = ", ".join(
        f"{column.name} {column.type}" + (f" from {column.record_field}" if column.record_field else "")
        for column in source.columns
    )
    return f"{source.name} by {source.key} ({columns})"
