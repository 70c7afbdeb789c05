"""Stores rows in order of arrival, as Arrow batches that are read by slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evertable.schema.columns import Column
from evertable.tables.table import Extent, Slots, batch_of

MAX_ROWS = 1 << 16
"""Rows in one piece; merging stops there."""
MAX_BYTES = 64 << 20
"""Bytes in one piece, if it is merged from batches: Arrow's text columns hold 2 GB at most."""

OptionalSlots = npt.NDArray[np.integer]
"""Slots of a store; -1 stands for no row."""


class RowStore:
    """An append-only store. Small batches are merged into larger ones, so that each row is copied only a few times."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._pieces: list[pa.RecordBatch] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    @property
    def nbytes(self) -> int:
        return sum(piece.get_total_buffer_size() for piece in self._pieces)

    def append(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        self._rows += batch.num_rows
        merged = [batch]
        while self._pieces and _should_merge(self._pieces[-1], merged):
            merged.insert(0, self._pieces.pop())
        self._pieces.append(pa.concat_batches(merged) if len(merged) > 1 else batch)

    def rows(self) -> Rows:
        """Returns the present rows; appending leaves them unchanged."""
        return Rows(self.schema, tuple(self._pieces))


def _should_merge(piece: pa.RecordBatch, later: Sequence[pa.RecordBatch]) -> bool:
    """Whether to merge these pieces: they are of similar size, and the result is not too large."""
    rows = sum(batch.num_rows for batch in later)
    if piece.num_rows > 2 * rows or piece.num_rows + rows > MAX_ROWS:
        return False
    return bool(piece.nbytes + sum(batch.nbytes for batch in later) <= MAX_BYTES)


def _offsets(texts: pa.StringArray) -> npt.NDArray[np.int32]:
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]


class Rows:
    """The rows of a store at one moment."""

    def __init__(self, schema: pa.Schema, pieces: tuple[pa.RecordBatch, ...]) -> None:
        self.schema = schema
        self._pieces = pieces
        self._starts = np.fromiter(accumulate((piece.num_rows for piece in pieces), initial=0), np.int64)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def column(self, index: int) -> pa.ChunkedArray:
        """Returns all values of a column."""
        return pa.chunked_array([piece.column(index) for piece in self._pieces], self.schema.types[index])

    def take(self, slots: OptionalSlots, columns: Sequence[int]) -> list[pa.Array]:
        """Returns these columns of the rows in these slots; null where a slot is -1."""
        if not self._pieces:
            return [pa.nulls(len(slots), self.schema.types[column]) for column in columns]
        if not len(slots):
            return [pa.array([], self.schema.types[column]) for column in columns]
        owners = np.searchsorted(self._starts, slots, "right") - 1
        owners[slots < 0] = max(owners.max(), 0)
        first = owners[0]
        if (owners == first).all():
            return self._take_from(first, slots, columns)
        if (np.diff(owners) >= 0).all():
            order, inverse = np.arange(len(owners)), None
        else:
            order = np.argsort(owners, kind="stable")
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            inverse = pa.array(back)
        cuts = np.flatnonzero(np.diff(owners[order])) + 1
        groups = [self._take_from(owners[group[0]], slots[group], columns) for group in np.split(order, cuts)]
        found = [pa.concat_arrays([group[i] for group in groups]) for i in range(len(columns))]
        return found if inverse is None else [array.take(inverse) for array in found]

    def text_bytes(self, slots: OptionalSlots, columns: Sequence[int]) -> npt.NDArray[np.int64]:
        """Returns the bytes of text that each of these rows has in these columns; 0 where a slot is -1."""
        found = np.zeros(len(slots), np.int64)
        texts = [column for column in columns if pa.types.is_string(self.schema.types[column])]
        if not texts or not self._pieces:
            return found
        owners = np.where(slots < 0, -1, np.searchsorted(self._starts, slots, "right") - 1)
        for owner in np.flatnonzero(np.bincount(owners + 1)[1:]).tolist():
            rows = np.flatnonzero(owners == owner)
            places = slots[rows] - self._starts[owner]
            for column in texts:
                offsets = _offsets(self._pieces[owner].column(column))
                found[rows] += offsets[places + 1] - offsets[places]
        return found

    def _take_from(self, owner: int, slots: OptionalSlots, columns: Sequence[int]) -> list[pa.Array]:
        piece, places = self._pieces[owner], slots - self._starts[owner]
        if len(slots) == places[-1] - places[0] + 1 and (np.diff(places) == 1).all() and places[0] >= 0:
            return [piece.column(column).slice(places[0], len(slots)) for column in columns]
        indices = pa.array(places, pa.int64(), mask=slots < 0)
        return [piece.column(column).take(indices) for column in columns]


@dataclass(eq=False)
class StoredSnapshot:
    """Rows of a store as the snapshot of a table, whose first slot has the first of them."""

    columns: tuple[Column, ...]
    extent: Extent
    rows: Rows

    def column(self, index: int) -> pa.ChunkedArray:
        return self.rows.column(index)

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        return batch_of(self.columns, columns, self.rows.take(slots - self.extent.first, columns), len(slots))

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        return self.rows.text_bytes(slots - self.extent.first, columns)
