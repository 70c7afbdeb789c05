"""The state of an app: the records of the state topic folded, the newest of each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evertable.schema.wiring import Wiring
from evertable.state.records import (
    ChangelogRecord,
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

KEPT_RESULTS = 10_000
KEPT_GENERATIONS = 1_000


@dataclass(frozen=True)
class AppState:
    """What a restart finds; all of it is empty at the first start."""

    live: LiveRecord | None = None
    changelog: ChangelogRecord | None = None
    """The end of the live generation's changelog at a commit; None if unknown."""
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
        self._results: dict[str, ControlResult] = {}
        self._generations: dict[str, GenerationRow] = {}

    def apply(self, record: Record) -> None:
        match record:
            case ControlResult():
                self._results[record.key] = record
            case GenerationRow():
                self._generations[record.key] = record
            case _:
                self._records[record.key] = record

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            for records in (self._records, self._results, self._generations):
                records.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return any(key in records for records in (self._records, self._results, self._generations))

    def too_old(self, new: Sequence[Record] = ()) -> set[str]:
        """Returns the keys of the oldest results and generations beyond the limits, counting ``new`` ones."""
        results = {**self._results, **{record.key: record for record in new if isinstance(record, ControlResult)}}
        rows = {**self._generations, **{record.key: record for record in new if isinstance(record, GenerationRow)}}
        by_age = (
            sorted(results.values(), key=lambda result: result.place)[: -self._kept_results],
            sorted(rows.values(), key=lambda row: row.generation)[: -self._kept_generations],
        )
        return {record.key for old in by_age for record in old}

    def state(self) -> AppState:
        """Returns the state that all records together describe."""
        found = AppState(
            control_results=tuple(sorted(self._results.values(), key=lambda result: result.place)),
            generations=tuple(sorted(self._generations.values(), key=lambda row: row.generation)),
        )
        control: dict[int, ControlOffset] = {}
        for record in self._records.values():
            match record:
                case LiveRecord():
                    found = replace(found, live=record)
                case ChangelogRecord():
                    found = replace(found, changelog=record)
                case PreviousWiring(wiring):
                    found = replace(found, previous=wiring)
                case Numbers(last_generation, publication):
                    found = replace(found, last_generation=last_generation, publication=publication)
                case LastOwner(owner):
                    found = replace(found, owner=owner)
                case ControlOffset(partition):
                    control[partition] = record
        return replace(found, control=control)
