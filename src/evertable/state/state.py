"""The orchestrator's memory as values: records of the state topic folded, the newest of each key."""

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

KEPT_VERDICTS = 10_000
KEPT_GENERATIONS = 1_000


@dataclass(frozen=True)
class AppState:
    """What is remembered; a first start remembers nothing."""

    live: LiveRecord | None = None
    changelog: ChangelogRecord | None = None
    """Where the live generation's changelog ended at a commit; None if that is not known."""
    previous: Wiring | None = None
    """What was live before, for a rollback."""
    last_generation: int = 0
    publication: int = 0
    control: Mapping[int, ControlOffset] = field(default_factory=dict)
    """For each partition of the control topic, what is read next, and of which topic."""
    verdicts: tuple[ControlResult, ...] = ()
    """The newest control messages, in the order of (timestamp, partition, offset)."""
    generations: tuple[GenerationRow, ...] = ()
    """The newest ones, by number."""
    owner: Owner | None = None
    """Who took the app over last."""


class StateFold:
    """Folds records, and tells which of them are too old to be kept."""

    def __init__(self, kept_verdicts: int = KEPT_VERDICTS, kept_generations: int = KEPT_GENERATIONS) -> None:
        self._kept_verdicts = kept_verdicts
        self._kept_generations = kept_generations
        self._records: dict[str, Record] = {}
        self._verdicts: dict[str, ControlResult] = {}
        self._generations: dict[str, GenerationRow] = {}

    def apply(self, record: Record) -> None:
        match record:
            case ControlResult():
                self._verdicts[record.key] = record
            case GenerationRow():
                self._generations[record.key] = record
            case _:
                self._records[record.key] = record

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            for records in (self._records, self._verdicts, self._generations):
                records.pop(key, None)

    def __contains__(self, key: str) -> bool:
        return any(key in records for records in (self._records, self._verdicts, self._generations))

    def too_old(self, coming: Sequence[Record] = ()) -> set[str]:
        """The keys of verdicts and generations that there are too many newer ones of, with what is coming."""
        verdicts = {**self._verdicts, **{record.key: record for record in coming if isinstance(record, ControlResult)}}
        rows = {**self._generations, **{record.key: record for record in coming if isinstance(record, GenerationRow)}}
        by_age = (
            sorted(verdicts.values(), key=lambda verdict: verdict.place)[: -self._kept_verdicts],
            sorted(rows.values(), key=lambda row: row.generation)[: -self._kept_generations],
        )
        return {record.key for old in by_age for record in old}

    def state(self) -> AppState:
        """What all of it says."""
        found = AppState(
            verdicts=tuple(sorted(self._verdicts.values(), key=lambda verdict: verdict.place)),
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
