"""How far a changelog has been read, in offsets of the sources, and what follows from it; without I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evertable.changelog.changes import Barrier, Changes
from evertable.changelog.ids import Ints, partition_and_offset
from evertable.changelog.schema import Side, SourcePartition
from evertable.errors import ChangelogError

Ends = Mapping[SourcePartition, int]
"""An offset for each source partition: of the first record that does not belong to something."""


class SourcePositions:
    """How far each source partition has been read, and up to where the changelog is complete.

    ``reached`` is the offset after the last record whose row or reject was read. ``complete`` is what the barriers say:
    all rows, rejects and matches of the records before it have been read. Barriers may be read in any order and again.
    """

    def __init__(self) -> None:
        self._rows: dict[SourcePartition, int] = {}
        self._barriers: dict[int, dict[SourcePartition, int]] = {}
        self.complete: Ends = {}

    @property
    def reached(self) -> dict[SourcePartition, int]:
        places = self._rows.keys() | self.complete.keys()
        return {place: max(self._rows.get(place, 0), self.complete.get(place, 0)) for place in places}

    def add(self, changes: Changes) -> None:
        for side, partitions, offsets in _records_of(changes):
            for partition in np.unique(partitions).tolist():
                end = int(offsets[partitions == partition].max()) + 1
                self._rows[side, partition] = max(end, self._rows.get((side, partition), 0))
        for barrier in changes.barriers:
            self._pass(barrier)

    def _pass(self, barrier: Barrier) -> None:
        """Only a barrier of every channel shows that nothing before it is missing."""
        ends = self._barriers.setdefault(barrier.channel, {})
        ends.update({place: max(end, ends.get(place, 0)) for place, end in barrier.ends.items()})
        if len(self._barriers) < barrier.channels:
            return
        common = set.intersection(*(set(each) for each in self._barriers.values()))
        self.complete = {place: min(each[place] for each in self._barriers.values()) for place in common}


def _records_of(changes: Changes) -> Iterator[tuple[Side, Ints, Ints]]:
    """Yields the source records of a batch's rows and rejects: side, partitions and offsets."""
    sides = changes.rejects.column("side").to_numpy()
    for side in Side:
        yield side, *partition_and_offset(changes.rows[side].column(0).to_numpy())
        if len(rejected := np.flatnonzero(sides == int(side))):
            partitions, offsets = (changes.rejects.column(name).to_numpy() for name in ("partition", "offset"))
            yield side, partitions[rejected], offsets[rejected]


@dataclass(frozen=True)
class CatchUpProgress:
    """The part of the backlog that has been read, in offsets of the sources; an estimate for people."""

    reached: int
    awaited: int

    @property
    def fraction(self) -> float:
        return self.reached / self.awaited if self.awaited else 1.0


@dataclass(frozen=True)
class Backlog:
    """What the sources held when a generation was built: by partition, where it begins, and the offset after it."""

    begins: Ends
    ends: Ends

    def is_read(self, positions: SourcePositions) -> bool:
        """Whether the tables hold all of it."""
        return not missing(self.ends, positions.complete)

    def progress(self, positions: SourcePositions) -> CatchUpProgress:
        reached = positions.reached
        sizes = {place: end - self.begins[place] for place, end in self.ends.items()}
        done = (min(max(reached.get(place, 0) - self.begins[place], 0), size) for place, size in sizes.items())
        return CatchUpProgress(sum(done), sum(sizes.values()))


def missing(ends: Ends, complete: Ends) -> dict[SourcePartition, int]:
    """Returns the ends that are not complete."""
    return {place: end for place, end in ends.items() if complete.get(place, 0) < end}


@dataclass(frozen=True)
class ResumeCheck:
    """Whether a changelog holds all that its query has committed, and so will never write again.

    ``changelog_ends`` says where the changelog ended before the query was started again, by its own partitions.
    """

    changelog_ends: Mapping[int, int]
    committed: Ends

    def is_done(self, read_to: Mapping[int, int], complete: Ends) -> bool:
        """Returns whether the changelog has been read to its end; raises ChangelogError if it is incomplete."""
        if any(read_to.get(partition, 0) < end for partition, end in self.changelog_ends.items()):
            return False
        for (side, partition), end in sorted(missing(self.committed, complete).items()):
            raise ChangelogError(
                f"The changelog is incomplete: the query has committed offset {end - 1} of partition {partition} of "
                f"the {side.name.lower()} topic, but the changelog is complete up to offset "
                f"{complete.get((side, partition), 0) - 1} only.",
                "The generation is rebuilt; check the disks of the Kafka that keeps it.",
            )
        return True
