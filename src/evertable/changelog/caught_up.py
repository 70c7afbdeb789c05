"""Decides when a generation is caught up: docs/CHANGELOG-FORMAT.md, "Caught up"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evertable.changelog.changes import Changes
from evertable.changelog.coverage import Coverage, Span
from evertable.changelog.ids import Ints, partition_and_offset
from evertable.changelog.schema import Side

SourcePartition = tuple[Side, int]


@dataclass(frozen=True)
class CatchUpProgress:
    """The part of the backlog that has been read, in offsets of the sources; an estimate for people."""

    reached: int
    awaited: int

    @property
    def fraction(self) -> float:
        return self.reached / self.awaited if self.awaited else 1.0


class SourcePositions:
    """How far each source partition has been read, by the rows and rejects of its records."""

    def __init__(self) -> None:
        self._ends: dict[SourcePartition, int] = {}

    @property
    def ends(self) -> dict[SourcePartition, int]:
        """The offset after the last record that was read, by source partition."""
        return dict(self._ends)

    def add(self, changes: Changes) -> None:
        for side, partitions, offsets in _records_of(changes):
            for partition in np.unique(partitions).tolist():
                end = int(offsets[partitions == partition].max()) + 1
                self._ends[side, partition] = max(end, self._ends.get((side, partition), 0))


def _records_of(changes: Changes) -> Iterator[tuple[Side, Ints, Ints]]:
    """Yields the source records of a batch's rows and rejects: side, partitions and offsets."""
    sides = changes.rejects.column("side").to_numpy()
    for side in Side:
        yield side, *partition_and_offset(changes.rows[side].column(0).to_numpy())
        if len(rejected := np.flatnonzero(sides == int(side))):
            partitions, offsets = (changes.rejects.column(name).to_numpy() for name in ("partition", "offset"))
            yield side, partitions[rejected], offsets[rejected]


class CaughtUp:
    """Tracks whether a generation's whole backlog has been read from its changelog.

    Pass it what was read (:meth:`add`, then :meth:`read_to`) and what the engine committed (:meth:`committed`), in any
    order. Partitions that are caught up are removed; once none is left, every call returns at once.

    ``was_restarted`` returns whether the query was started more than once. From then on only commits count: two runs
    of it may have written all rows together, while the second one has not yet written a match of two of them.
    """

    def __init__(
        self, targets: Mapping[SourcePartition, Span], was_restarted: Callable[[], bool] = lambda: False
    ) -> None:
        self._targets = targets
        self._was_restarted = was_restarted
        self._only_commits = False
        self._awaited = sum(span.offsets for span in targets.values())
        self._open = {target: Coverage(span) for target, span in targets.items()}
        self._committed: dict[SourcePartition, dict[int, int]] = {}
        """The end of the changelog after the engine had committed the last record of a source partition."""
        self._positions: dict[int, int] = {}

    @property
    def is_done(self) -> bool:
        return not self._open

    @property
    def missing(self) -> dict[SourcePartition, Span]:
        """The partitions that are not caught up."""
        return {target: coverage.span for target, coverage in self._open.items()}

    @property
    def progress(self) -> CatchUpProgress:
        ahead = sum(coverage.span.last - coverage.highest for coverage in self._open.values())
        return CatchUpProgress(self._awaited - max(ahead, len(self._open)), self._awaited)

    def add(self, changes: Changes) -> None:
        """Adds the rows and rejects of a batch."""
        if self.is_done:
            return
        if not self._only_commits and self._was_restarted():
            self._await_commits()
        for side, partitions, offsets in _records_of(changes):
            self._add_offsets(side, partitions, offsets)
        self._remove_committed()

    def read_to(self, positions: Mapping[int, int]) -> None:
        """Sets the next offset to read, by partition of the changelog."""
        self._positions.update(positions)
        self._remove_committed()

    def committed(self, ends: Mapping[SourcePartition, int], changelog_end: Mapping[int, int]) -> None:
        """Adds an epoch that was committed up to these offsets, and where the changelog ended after that."""
        for target, coverage in self._open.items():
            if ends.get(target, 0) > coverage.span.last:
                self._committed.setdefault(target, dict(changelog_end))
        self._remove_committed()

    def _add_offsets(self, side: Side, partitions: Ints, offsets: Ints) -> None:
        for target in [target for target in self._open if target[0] == side]:
            mine = offsets[partitions == target[1]]
            coverage = self._open[target]
            coverage.add(mine)
            if coverage.is_full and not self._only_commits:
                del self._open[target]

    def _await_commits(self) -> None:
        self._only_commits = True
        for target in self._targets.keys() - self._open.keys():
            self._open[target] = Coverage(self._targets[target])
            self._open[target].highest = self._targets[target].last

    def _remove_committed(self) -> None:
        for target in list(self._committed.keys() & self._open.keys()):
            ends = self._committed[target].items()
            read = all(self._positions.get(partition, 0) >= end for partition, end in ends)
            if read and self._open[target].has_last:
                del self._open[target]
