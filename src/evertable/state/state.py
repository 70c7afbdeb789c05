"""The state of an app: the records of the state topic folded, the newest of each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from evertable.schema.wiring import Wiring
from evertable.state.records import (
    ControlOffset,
    ControlResult,
    GenerationRow,
    LastOwner,
    LiveRecord,
    Numbers,
    Owner,
    PreviousWiring,
    Record,
)

T = TypeVar("T")

KEPT_RESULTS = 10_000
KEPT_GENERATIONS = 1_000


@dataclass(frozen=True)
class AppState:
    """What a restart finds; all of it is empty at the first start."""

    live: LiveRecord | None = None
    previous: Wiring | None = None
    """The wiring that was live before, for a rollback."""
    last_generation: int = 0
    publication: int = 0
    control: Mapping[int, ControlOffset] = field(default_factory=dict)
    """For each partition of the control topic, the offset to read next, and the topic it belongs to."""
    control_results: tuple[ControlResult, ...] = ()
    """The results of the newest control messages, ordered by (timestamp, partition, offset)."""
    generations: tuple[GenerationRow, ...] = ()
    """The newest generations, by number."""
    owner: Owner | None = None
    """The owner that took over last."""


class StateFold:
    """Folds records, and finds those that are too old to be kept."""

    def __init__(self, kept_results: int = KEPT_RESULTS, kept_generations: int = KEPT_GENERATIONS) -> None:
        self._kept_results = kept_results
        self._kept_generations = kept_generations
        self._records: dict[str, Record] = {}

    def apply(self, record: Record) -> None:
        self._records[record.key] = record

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._records.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return key in self._records

    def too_old(self, new: Iterable[Record] = ()) -> set[str]:
        """Returns the keys of the oldest results and generations beyond the limits, counting ``new`` ones."""
        records = {**self._records, **{record.key: record for record in new}}.values()
        results = {result.key for result in _results(records)[: -self._kept_results]}
        return results | {row.key for row in _generations(records)[: -self._kept_generations]}

    def state(self) -> AppState:
        """Returns the state that all records together describe."""
        records = self._records.values()
        previous, owner = _one(PreviousWiring, records), _one(LastOwner, records)
        numbers = _one(Numbers, records) or Numbers(0, 0)
        return AppState(
            live=_one(LiveRecord, records),
            previous=previous.wiring if previous else None,
            last_generation=numbers.last_generation,
            publication=numbers.publication,
            control={record.partition: record for record in records if isinstance(record, ControlOffset)},
            control_results=tuple(_results(records)),
            generations=tuple(_generations(records)),
            owner=owner.owner if owner else None,
        )


def _one(kind: type[T], records: Iterable[Record]) -> T | None:
    return next((record for record in records if isinstance(record, kind)), None)


def _results(records: Iterable[Record]) -> list[ControlResult]:
    return sorted((each for each in records if isinstance(each, ControlResult)), key=lambda each: each.place)


def _generations(records: Iterable[Record]) -> list[GenerationRow]:
    return sorted((each for each in records if isinstance(each, GenerationRow)), key=lambda each: each.generation)
