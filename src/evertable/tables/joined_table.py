"""The joined table: rows of both sources side by side, assembled only when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evertable.changelog.schema import Side
from evertable.schema.columns import Column
from evertable.tables.joins import JoinedIndex
from evertable.tables.source import SourceTable
from evertable.tables.store import OptionalSlots, Rows
from evertable.tables.table import Extent, Mask, Slots, Table, batch_of

StoredColumn = tuple[Side, int]
"""Where a joined column is stored: the side, and the column's index in the store of that source."""


class JoinedTable(Table):
    """A table of the rows of two sources that an index of slots puts side by side."""

    def __init__(
        self,
        columns: Sequence[Column],
        origins: Sequence[StoredColumn],
        sources: tuple[SourceTable, SourceTable],
        index: JoinedIndex,
    ) -> None:
        self.columns = tuple(columns)
        self.lock = sources[0].lock
        self.index = index
        self.version = 0
        self._origins = origins
        self._sources = sources

    def with_index(self, index: JoinedIndex, version: int) -> JoinedTable:
        """Returns the same table with other rows."""
        table = JoinedTable(self.columns, self._origins, self._sources, index)
        table.version = version
        return table

    @property
    def extent(self) -> Extent:
        with self.lock:
            return Extent(self.version, 0, len(self.index))

    @property
    def nbytes(self) -> int:
        with self.lock:
            return self.index.nbytes

    def changed(self, slots: Slots, since: int) -> Mask:
        with self.lock:
            return self.index.written_after(slots, since)

    def written(self, since: int) -> list[int] | None:
        with self.lock:
            return self.index.written_in_place(since)

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        return self.snapshot(slots).take(np.arange(len(slots)), columns)

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        return self.snapshot(slots).text_bytes(np.arange(len(slots)), columns)

    def snapshot(self, slots: Slots | None = None) -> JoinedSnapshot:
        """Returns a snapshot of the rows in these slots, by default of all."""
        with self.lock:
            rows = (self._sources[0].rows(), self._sources[1].rows())
            return JoinedSnapshot(self.columns, self.extent, self._origins, rows, self.index.sides(slots))


@dataclass(frozen=True, eq=False)
class JoinedSnapshot:
    """The rows of a joined table at one moment."""

    columns: tuple[Column, ...]
    extent: Extent
    origins: Sequence[StoredColumn]
    rows: tuple[Rows, Rows]
    places: tuple[OptionalSlots, OptionalSlots]

    def column(self, index: int) -> pa.ChunkedArray:
        side, column = self.origins[index]
        values, places = self.rows[side].column(column), self.places[side]
        return values.take(pa.array(places, mask=places < 0))

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        taken: dict[StoredColumn, pa.Array] = {}
        for side in Side:
            stored = self._stored(side, columns)
            arrays = self.rows[side].take(self.places[side][slots], stored)
            taken.update(((side, column), array) for column, array in zip(stored, arrays, strict=True))
        return batch_of(self.columns, columns, [taken[self.origins[column]] for column in columns], len(slots))

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        left, right = (
            self.rows[side].text_bytes(self.places[side][slots], self._stored(side, columns)) for side in Side
        )
        return left + right

    def _stored(self, side: Side, columns: Sequence[int]) -> list[int]:
        """Returns where the source of that side stores those of the columns that are its own."""
        return [place for origin, place in (self.origins[column] for column in columns) if origin is side]
