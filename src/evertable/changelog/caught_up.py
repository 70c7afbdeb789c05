"""When a generation is caught up: docs/CHANGELOG-FORMAT.md, "Caught up"."""

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
    """How far the reader has come, in offsets of the sources; for people, not for decisions."""

    reached: int
    awaited: int

    @property
    def fraction(self) -> float:
        return self.reached / self.awaited if self.awaited else 1.0


class SourcePositions:
    """How far each source partition has come, by the records that were seen of it."""

    def __init__(self) -> None:
        self._ends: dict[SourcePartition, int] = {}

    @property
    def ends(self) -> dict[SourcePartition, int]:
        """The offset behind the greatest one seen."""
        return dict(self._ends)

    def add(self, changes: Changes) -> None:
        for side, partitions, offsets in _records_of(changes):
            for partition in np.unique(partitions).tolist():
                end = int(offsets[partitions == partition].max()) + 1
                self._ends[side, partition] = max(end, self._ends.get((side, partition), 0))


def _records_of(changes: Changes) -> Iterator[tuple[Side, Ints, Ints]]:
    """The source records that a batch's rows and rejects stand for: side, partitions and offsets."""
    sides = changes.rejects.column("side").to_numpy()
    for side in Side:
        yield side, *partition_and_offset(changes.rows[side].column(0).to_numpy())
        if len(rejected := np.flatnonzero(sides == int(side))):
            partitions, offsets = (changes.rejects.column(name).to_numpy() for name in ("partition", "offset"))
            yield side, partitions[rejected], offsets[rejected]


class CaughtUp:
    """Watches a generation's changelog until it has shown all that its topics held when the build began.

    Feed it what was read (:meth:`add`, then :meth:`read_to`) and what the engine committed (:meth:`committed`), in any
    order. A partition that is covered is forgotten; once all are, every call returns at once.

    ``was_restarted`` says if the query was started more than once. From then on only commits count: rows of two tries
    may be all that there are, while a pair of them is yet to be written by the second.
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
        """Where the changelog ended when the engine was known to be behind the last record."""
        self._positions: dict[int, int] = {}

    @property
    def is_done(self) -> bool:
        return not self._open

    @property
    def missing(self) -> dict[SourcePartition, Span]:
        """The partitions that are still awaited."""
        return {target: coverage.span for target, coverage in self._open.items()}

    @property
    def progress(self) -> CatchUpProgress:
        ahead = sum(coverage.span.last - coverage.highest for coverage in self._open.values())
        return CatchUpProgress(self._awaited - max(ahead, len(self._open)), self._awaited)

    def add(self, changes: Changes) -> None:
        """Counts a batch's rows and rejects."""
        if self.is_done:
            return
        if not self._only_commits and self._was_restarted():
            self._await_commits()
        for side, partitions, offsets in _records_of(changes):
            self._add_offsets(side, partitions, offsets)
        self._settle()

    def read_to(self, positions: Mapping[int, int]) -> None:
        """For each partition of the changelog, the offset that is read next."""
        self._positions.update(positions)
        self._settle()

    def committed(self, ends: Mapping[SourcePartition, int], changelog_end: Mapping[int, int]) -> None:
        """The engine has committed an epoch that ends before these offsets, and then the changelog ended there."""
        for target, coverage in self._open.items():
            if ends.get(target, 0) > coverage.span.last:
                self._committed.setdefault(target, dict(changelog_end))
        self._settle()

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

    def _settle(self) -> None:
        for target in list(self._committed.keys() & self._open.keys()):
            ends = self._committed[target].items()
            read = all(self._positions.get(partition, 0) >= end for partition, end in ends)
            if read and self._open[target].has_last:
                del self._open[target]
