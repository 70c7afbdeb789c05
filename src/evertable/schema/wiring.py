"""The wiring: which topics are joined, and how."""

from __future__ import annotations

from dataclasses import dataclass

from evertable.schema.joins import JoinType


@dataclass(frozen=True)
class Wiring:
    """Two topics and their join; a generation is built from one, a swap goes to another."""

    left_topic: str
    right_topic: str
    join: JoinType

    def __str__(self) -> str:
        return f"{self.left_topic} {self.join} {self.right_topic}"
