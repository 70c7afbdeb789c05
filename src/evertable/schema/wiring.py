"""A wiring: which topics are joined, and how."""

from __future__ import annotations

from dataclasses import dataclass

from evertable.schema.joins import JoinType


@dataclass(frozen=True)
class Wiring:
    """What a generation is made of; a swap goes from one wiring to another."""

    left_topic: str
    right_topic: str
    join: JoinType

    def __str__(self) -> str:
        return f"{self.left_topic} {self.join} {self.right_topic}"
