"""Reads the columns that an order is computed from, texts also without case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evertable.schema.columns import Column
from evertable.tables.table import Check, Slots, Snapshot, never, pieces

MAX_ROWS = 1 << 16
MAX_BYTES = 4 << 20
"""Text in one piece; searching that much takes a few hundredths of a second."""

# Turkish i's: their upper or lower case is i, but they fold to themselves only. Noncharacters stand in for them.
_KEPT = {"İ": "\ufdd0", "ı": "\ufdd1"}


class ColumnReader:
    """Reads each column of a snapshot, or of some of its rows, only once: a joined table has to gather them."""

    def __init__(self, snapshot: Snapshot, slots: Slots | None = None, check: Check = never) -> None:
        self.total = snapshot.extent.total if slots is None else len(slots)
        self._snapshot = snapshot
        self._slots = slots
        self._check = check
        self._known: dict[int, pa.ChunkedArray] = {}
        self._folded: dict[int, pa.ChunkedArray] = {}

    def column(self, index: int) -> pa.ChunkedArray:
        self._check()
        if index not in self._known:
            self._known[index] = self._read(index)
        return self._known[index]

    def folded(self, index: int) -> pa.ChunkedArray:
        """Returns a text column without case."""
        texts = self.column(index)
        if index not in self._folded:
            self._folded[index] = casefold(texts)
        return self._folded[index]

    def _read(self, index: int) -> pa.ChunkedArray:
        if self._slots is None:
            return self._snapshot.column(index)
        return pa.chunked_array([self._snapshot.take(self._slots, [index]).column(0)])


def places_of(columns: Sequence[Column]) -> dict[str, int]:
    """Returns each name's place among the columns; of a name that repeats, the first."""
    found: dict[str, int] = {}
    for i, column in enumerate(columns):
        found.setdefault(column.name, i)
    return found


def in_pieces(snapshot: Snapshot, columns: Iterable[int], check: Check) -> Iterator[ColumnReader]:
    """Yields all rows of a snapshot in pieces, with a limited amount of text in these columns."""
    extent, chosen = snapshot.extent, sorted(columns)
    slots: Slots = np.arange(extent.first, extent.end, dtype=np.int64)
    for start, stop in pieces(snapshot, slots, chosen, MAX_ROWS, MAX_BYTES):
        check()
        yield ColumnReader(snapshot, slots[start:stop], check)


def casefold(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Applies Unicode's simple case folding to each character, so that texts that differ only in case become equal."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:  # most texts are, and it is much faster
        return pc.ascii_lower(texts)
    for kept, stand_in in _KEPT.items():
        texts = pc.replace_substring(texts, kept, stand_in)
    return pc.utf8_lower(pc.utf8_upper(texts))  # upper case first, because both 's' and 'ſ' have the upper case 'S'
