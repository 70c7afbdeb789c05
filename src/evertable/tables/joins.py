"""The joins: each is an index of (left slot, right slot), one class for each join type.

Rows and matches may be added in any order and any number of times; the result is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque

import numpy as np
import numpy.typing as npt

from evertable.changelog.ids import Ints
from evertable.changelog.schema import Side
from evertable.schema.joins import JoinType
from evertable.tables.growing import GrowingArray
from evertable.tables.numbering import Numbering
from evertable.tables.store import OptionalSlots
from evertable.tables.waiting import Matches

NONE = -1
"""Stands for a slot where there is no row; its columns are null."""

MAX_RECENT = 100
MAX_RECENT_SLOTS = 10_000


class JoinedIndex(ABC):
    """The two rows that each slot of the joined table shows, and the version that wrote it last."""

    def __init__(self) -> None:
        self._written = GrowingArray(np.int64)
        self._recent: deque[tuple[int, Ints]] = deque()  # slots written in place, by version
        self._known_since = 0

    def __len__(self) -> int:
        return len(self._written)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in vars(self).values() if isinstance(part, GrowingArray | Numbering))

    def written_after(self, slots: Ints, version: int) -> npt.NDArray[np.bool_]:
        after: npt.NDArray[np.bool_] = self._written.values[slots] > version
        return after

    def written_in_place(self, since: int) -> list[int] | None:
        """Returns the slots that were overwritten after that version, sorted; None if it is too long ago to know."""
        if since < self._known_since:
            return None
        recent = [slots for version, slots in self._recent if version > since]
        return np.unique(np.concatenate(recent)).tolist() if recent else []

    def _write_in_place(self, slots: Ints, version: int) -> None:
        if len(slots):
            self._written.values[slots] = version
            self._recent.append((version, slots))
        while len(self._recent) > MAX_RECENT or sum(len(slots) for _, slots in self._recent) > MAX_RECENT_SLOTS:
            self._known_since = self._recent.popleft()[0]

    @abstractmethod
    def sides(self, slots: Ints | None = None) -> tuple[OptionalSlots, OptionalSlots]:
        """Returns a copy of the left and the right slots that these slots (by default all) show."""

    @abstractmethod
    def add_rows(self, side: Side, start: int, end: int, version: int) -> None:
        """Adds new rows of one side, in these slots of their source."""

    @abstractmethod
    def without(self, hidden: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]], version: int) -> JoinedIndex:
        """Returns an index without the matches of these rows, by slot of each side; it stays as it is."""

    @abstractmethod
    def add_matches(self, slots: tuple[Ints, Ints], matches: Matches, version: int) -> bool:
        """Adds matches of the rows in these slots of both sources; returns whether anything changed."""


class InnerJoin(JoinedIndex):
    """``inner``: appends a row for each match."""

    def __init__(self) -> None:
        super().__init__()
        self._left = GrowingArray(np.int32)
        self._right = GrowingArray(np.int32)
        self._seen = Numbering()

    def sides(self, slots: Ints | None = None) -> tuple[OptionalSlots, OptionalSlots]:
        left, right = self._left.values, self._right.values
        return (left.copy(), right.copy()) if slots is None else (left[slots], right[slots])

    def add_rows(self, side: Side, start: int, end: int, version: int) -> None:
        pass

    def add_matches(self, slots: tuple[Ints, Ints], matches: Matches, version: int) -> bool:  # noqa: ARG002 (keeps all)
        left, right = self._fresh(*slots)
        self._append(left, right, version)
        return bool(len(left))

    def without(self, hidden: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]], version: int) -> JoinedIndex:
        left, right = (places.astype(np.int64) for places in self.sides())
        kept = (right != NONE) & ~hidden[Side.LEFT][left] & ~hidden[Side.RIGHT][right]
        other = type(self)()
        other.add_rows(Side.LEFT, 0, len(hidden[Side.LEFT]), version)
        other.add_matches((left[kept], right[kept]), np.empty((3, 0), np.int64), version)
        return other

    def _append(self, left: Ints, right: Ints, version: int) -> None:
        self._left.append(left)
        self._right.append(right)
        self._written.extend(len(left), version)

    def _fresh(self, left: Ints, right: Ints) -> tuple[Ints, Ints]:
        """Returns the slots of the matches that are new."""
        fresh = self._seen.add(left << 32 | right)
        return left[fresh], right[fresh]


class LeftJoin(InnerJoin):
    """``left``: appends each left row with nulls; its first match fills them in place, later ones are appended."""

    def __init__(self) -> None:
        super().__init__()
        self._alone = GrowingArray(np.int32)  # by left slot: the joined slot that shows it with nulls, or NONE

    def add_rows(self, side: Side, start: int, end: int, version: int) -> None:
        if side is Side.LEFT:
            self._alone.append(np.arange(len(self), len(self) + end - start))
            self._append(np.arange(start, end), np.full(end - start, NONE), version)

    def add_matches(self, slots: tuple[Ints, Ints], matches: Matches, version: int) -> bool:  # noqa: ARG002 (keeps all)
        left, right = self._fresh(*slots)
        if not len(left):
            return False
        alone = self._alone.values
        first_matches = np.flatnonzero(alone[left] != NONE)
        _, first = np.unique(left[first_matches], return_index=True)
        filling = first_matches[first]
        places = alone[left[filling]]
        self._right.values[places] = right[filling]
        self._write_in_place(places, version)
        alone[left[filling]] = NONE
        rest = np.ones(len(left), bool)
        rest[filling] = False
        self._append(left[rest], right[rest], version)
        return True


class _BestMatch(JoinedIndex):
    """Keeps one row for each row of the ``owner`` side, in the same slot, with its greatest match.

    That is the one with the greatest timestamp, then the greatest id of the other row.
    """

    owner: Side

    def __init__(self) -> None:
        super().__init__()
        self._chosen = GrowingArray(np.int32)
        self._chosen_ts = GrowingArray(np.int64)
        self._chosen_id = GrowingArray(np.int64)

    def sides(self, slots: Ints | None = None) -> tuple[OptionalSlots, OptionalSlots]:
        owners = np.arange(len(self), dtype=np.int32) if slots is None else slots.astype(np.int32)
        chosen = self._chosen.values.copy() if slots is None else self._chosen.values[slots]
        return (owners, chosen) if self.owner is Side.LEFT else (chosen, owners)

    def add_rows(self, side: Side, start: int, end: int, version: int) -> None:
        if side is self.owner:
            self._chosen.extend(end - start, NONE)
            self._chosen_ts.extend(end - start, 0)
            self._chosen_id.extend(end - start, 0)
            self._written.extend(end - start, version)

    def without(self, hidden: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]], version: int) -> JoinedIndex:
        other = type(self)()
        other.add_rows(self.owner, 0, len(self), version)
        shown = self._chosen.values
        kept = np.flatnonzero((shown != NONE) & ~hidden[self.owner] & ~hidden[1 - self.owner][shown])
        for mine, values in ((other._chosen, shown), (other._chosen_ts, self._chosen_ts.values)):
            mine.values[kept] = values[kept]
        other._chosen_id.values[kept] = self._chosen_id.values[kept]
        return other

    def add_matches(self, slots: tuple[Ints, Ints], matches: Matches, version: int) -> bool:
        owners, others = slots[self.owner], slots[1 - self.owner]
        times, ids = matches[2], matches[1 - self.owner]
        best = np.lexsort((ids, times, owners))
        best = best[np.append(owners[best][1:] != owners[best][:-1], True)]  # the last one of each owner
        owners, others, times, ids = owners[best], others[best], times[best], ids[best]
        shown, shown_ts, shown_id = (part.values for part in (self._chosen, self._chosen_ts, self._chosen_id))
        same_ts = times == shown_ts[owners]
        greater = (shown[owners] == NONE) | (times > shown_ts[owners]) | (same_ts & (ids > shown_id[owners]))
        owners = owners[greater]
        shown[owners], shown_ts[owners], shown_id[owners] = others[greater], times[greater], ids[greater]
        self._write_in_place(owners, version)
        return bool(len(owners))


class NaturalJoin(_BestMatch):
    """``natural``: shows each left row with the newest right row of its key."""

    owner = Side.LEFT


class AsofJoin(_BestMatch):
    """``asof``: shows each right row with the newest left row of its key that is not newer than it."""

    owner = Side.RIGHT


JOINS: dict[JoinType, type[JoinedIndex]] = {
    JoinType.INNER: InnerJoin,
    JoinType.LEFT: LeftJoin,
    JoinType.NATURAL: NaturalJoin,
    JoinType.ASOF: AsofJoin,
}
