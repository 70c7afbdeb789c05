"""Folds changes into plain dicts and sets: docs/CHANGELOG-FORMAT.md, "Folding"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.reference.joins import Joined

from evertable.changelog.changes import Changes
from evertable.changelog.schema import Side
from evertable.schema.joins import JoinType


@dataclass
class Fold:
    """The content of a changelog so far; two folds of the same set of records are equal."""

    join: JoinType
    rows: tuple[dict[int, tuple[Any, ...]], dict[int, tuple[Any, ...]]] = field(default_factory=lambda: ({}, {}))
    """For each side, by row id: timestamp and values."""
    rejects: dict[tuple[int, int, int], tuple[int, str, bytes | None]] = field(default_factory=dict)
    """By side, partition and offset: timestamp, reason and raw value."""
    pairs: set[tuple[int, int]] = field(default_factory=set)
    candidates: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By row id: the greatest match (timestamp, id) if the join chooses one."""
    quarantined: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    """For each side, the ids of rows whose matches are hidden."""
    quarantined_keys: set[bytes] = field(default_factory=set)

    def add(self, changes: Changes) -> None:
        for side in Side:
            for row_id, *values in zip(*(c.to_pylist() for c in changes.rows[side].columns), strict=True):
                known = self.rows[side].setdefault(row_id, tuple(values))
                assert known == tuple(values), f"row {row_id} has other values than before"
        for reject in changes.rejects.to_pylist():
            place = reject["side"], reject["partition"], reject["offset"]
            self.rejects[place] = (reject["timestamp"], reject["reason"], reject["raw"])
        for side in Side:
            self.quarantined[side].update(changes.quarantined[side].tolist())
        self.quarantined_keys.update(changes.quarantined_keys)
        for left, right, order_ts in zip(*(column.to_pylist() for column in changes.matches.columns), strict=True):
            self._add_pair(left, right, order_ts)

    def _add_pair(self, left: int, right: int, order_ts: int) -> None:
        match self.join:
            case JoinType.INNER | JoinType.LEFT:
                self.pairs.add((left, right))
            case JoinType.NATURAL:
                self.candidates[left] = max(self.candidates.get(left, (order_ts, right)), (order_ts, right))
            case JoinType.ASOF:
                self.candidates[right] = max(self.candidates.get(right, (order_ts, left)), (order_ts, left))

    @property
    def joined(self) -> Joined:
        """The rows of the joined table; matches without their rows are left out."""
        left, right = self.rows
        no_left, no_right = self.quarantined
        own, other_side = (no_left, no_right) if self.join is JoinType.NATURAL else (no_right, no_left)
        chosen = {
            looking: id_
            for looking, (_, id_) in self.candidates.items()
            if looking not in own and id_ not in other_side
        }
        match self.join:
            case JoinType.INNER | JoinType.LEFT:
                shown_left, shown_right = left.keys() - no_left, right.keys() - no_right
                pairs = {(one, other) for one, other in self.pairs if one in shown_left and other in shown_right}
                alone = left.keys() - {one for one, _ in pairs} if self.join is JoinType.LEFT else set()
                return frozenset(pairs | {(one, None) for one in alone})
            case JoinType.NATURAL:
                return frozenset((one, chosen.get(one)) for one in left if chosen.get(one) in {None, *right})
            case JoinType.ASOF:
                return frozenset((chosen.get(other), other) for other in right if chosen.get(other) in {None, *left})


def fold(join: JoinType, batches: Iterable[Changes]) -> Fold:
    """Folds all these changes."""
    result = Fold(join)
    for changes in batches:
        result.add(changes)
    return result
