"""Reads the columns that an order is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from evertable.schema.columns import Column
from evertable.tables.pieces import Check, never, pieces
from evertable.tables.table import Slots, Snapshot
from evertable.views.casefold import casefold

MAX_ROWS = 1 << 16
MAX_BYTES = 4 << 20
"""Text in one piece; searching that much takes a few hundredths of a second."""


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
