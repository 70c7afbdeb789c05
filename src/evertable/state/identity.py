"""The identity of a generation: its topics, where they were begun, and the layout of its rows.

A generation is resumed only if it would be built the same way now. Topics are compared by their ids in Kafka, since a
recreated topic has the same name and other records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class SourceIdentity:
    """One source: its topic, the topic's id (None if Kafka has no ids), and where reading began."""

    topic: str
    topic_id: str | None
    start: str
    """The configured start: ``earliest``, ``latest`` or a time."""
    offsets: Mapping[int, int]
    """The offsets that this meant at the build, by partition."""
    name: str = ""
    """The source's name; empty in records of earlier versions."""


@dataclass(frozen=True)
class Identity:
    """The identity of one generation; ``layout`` holds columns, keys, join and formats as readable texts."""

    left: SourceIdentity
    right: SourceIdentity
    layout: Mapping[str, str]

    @property
    def sources(self) -> tuple[str, str] | None:
        """The names of both sources; None if unknown."""
        left, right = (
            source.name or self.layout.get(f"{side} source", "").partition(" by ")[0]
            for side, source in (("left", self.left), ("right", self.right))
        )
        return (left, right) if left and right else None


def mismatch(remembered: Identity, now: Identity) -> str | None:
    """Describes the first difference in a sentence; None if the remembered generation can be resumed.

    Unknown ids are not compared, and neither are offsets.
    """
    for was, is_ in ((remembered.left, now.left), (remembered.right, now.right)):
        if was.topic != is_.topic:
            return f"The topic was '{was.topic}' and is '{is_.topic}'."
        if was.topic_id and is_.topic_id and was.topic_id != is_.topic_id:
            return (
                f"The topic '{is_.topic}' was deleted and recreated: its id was {was.topic_id} and is {is_.topic_id}."
            )
        if was.start != is_.start:
            return f"The start of '{is_.topic}' was {was.start} and is {is_.start}."
    for name in {**remembered.layout, **now.layout}:
        before, after = (each.layout.get(name, "unknown") for each in (remembered, now))
        if before != after:
            return f"The {name} was {before} and is {after}."
    return None
