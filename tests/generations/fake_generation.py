"""A generation without Kafka and Spark, for tests of what drives generations."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from evertable.schema.wiring import Wiring
from evertable.state.records import Record


class FakeGeneration:
    """A generation that is built and warm at once."""

    def __init__(self, number: int, wiring: Wiring) -> None:
        self.number, self.wiring = number, wiring
        self.tables = self.feed = self.identity = self.started = self.progress = self.replaced_figures = None
        self.building: Future[None] | None = None
        self.swap_began = 0.0
        self.is_warm = self.is_beside_live = False
        self.expected_bytes = self.rows = 0
        self.published = self.created = self.stale_reason = ""
        self.last_running = 0.0
        self.source_problems: dict[Any, str] = {}
        self.records: list[Record] = []
        self.ended = self.is_halted = False

    def build(self) -> None:
        self.is_warm = True

    def positions(self) -> dict[Any, int]:
        return {}

    @property
    def public_tables(self) -> Mapping[str, Any]:
        return {}

    def give_up(self) -> None: ...

    def halt(self) -> None:
        self.is_halted = True

    def end(self) -> None:
        self.ended = True
