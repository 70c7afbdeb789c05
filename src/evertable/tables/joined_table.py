"""The joined table: rows of both sources side by side, assembled only when they are read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from evertable.changelog.schema import Side
from evertable.schema.columns import Column
from evertable.tables.joins import JoinedIndex
from evertable.tables.source import SourceTable
from evertable.tables.store import OptionalSlots, Rows
from evertable.tables.table import Extent, Mask, Slots, batch_of

StoredColumn = tuple[Side, int]
"""Where a joined column is stored: the side, and the column's index in the store of that source."""


class JoinedTable:
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
        self._origins = tuple(origins)
        self._sources = sources

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
        with self.lock:
            rows = self._rows()
            places = self.index.sides(slots)
        return _take(self.columns, self._origins, rows, places, columns)

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        with self.lock:
            rows = self._rows()
            places = self.index.sides(slots)
        return _text_bytes(self._origins, rows, places, columns)

    def snapshot(self) -> JoinedSnapshot:
        with self.lock:
            return JoinedSnapshot(self.columns, self._origins, self.extent, self._rows(), self.index.sides())

    def _rows(self) -> tuple[Rows, Rows]:
        return self._sources[0].rows(), self._sources[1].rows()


class JoinedSnapshot:
    """The rows of a joined table at one moment."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        origins: tuple[StoredColumn, ...],
        extent: Extent,
        rows: tuple[Rows, Rows],
        places: tuple[OptionalSlots, OptionalSlots],
    ) -> None:
        self.columns = columns
        self.extent = extent
        self._origins = origins
        self._rows = rows
        self._places = places

    def column(self, index: int) -> pa.ChunkedArray:
        side, column = self._origins[index]
        values, places = self._rows[side].column(column), self._places[side]
        return values.take(pa.array(places, mask=places < 0))

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        slots = np.asarray(slots)
        places = (self._places[0][slots], self._places[1][slots])
        return _take(self.columns, self._origins, self._rows, places, columns)

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        slots = np.asarray(slots)
        places = (self._places[0][slots], self._places[1][slots])
        return _text_bytes(self._origins, self._rows, places, columns)


def _text_bytes(
    origins: tuple[StoredColumn, ...],
    rows: tuple[Rows, Rows],
    places: tuple[OptionalSlots, OptionalSlots],
    columns: Sequence[int],
) -> Slots:
    chosen = [[place for side, place in (origins[column] for column in columns) if side is one] for one in Side]
    return rows[0].text_bytes(places[0], chosen[0]) + rows[1].text_bytes(places[1], chosen[1])


def _take(
    table: tuple[Column, ...],
    origins: tuple[StoredColumn, ...],
    rows: tuple[Rows, Rows],
    places: tuple[OptionalSlots, OptionalSlots],
    columns: Sequence[int],
) -> pa.RecordBatch:
    taken: dict[StoredColumn, pa.Array] = {}
    for side in Side:
        wanted = [origins[column] for column in columns if origins[column][0] is side]
        taken.update(zip(wanted, rows[side].take(places[side], [place for _, place in wanted]), strict=True))
    return batch_of(table, columns, [taken[origins[column]] for column in columns], len(places[0]))
