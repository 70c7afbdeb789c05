"""The rows of a source as a live table: each row once, in order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pyarrow as pa

from evertable.changelog.ids import Ints
from evertable.schema.columns import Column, ColumnType, Kind
from evertable.tables.numbering import Numbering
from evertable.tables.store import Rows, RowStore, StoredSnapshot
from evertable.tables.table import Extent, Mask, Slots, Table, schema_of

TIMESTAMP = Column("_ts", ColumnType(Kind.TIMESTAMP))
_TS_TYPE = schema_of([TIMESTAMP]).types[0]


class SourceTable(Table):
    """The rows of one source, which are added and never changed.

    ``with_ts`` stores the records' timestamps as one more column, after those that are shown.
    """

    def __init__(self, columns: Sequence[Column], lock: AbstractContextManager[Any], *, with_ts: bool) -> None:
        self.columns = tuple(columns)
        self.lock = lock
        self._with_ts = with_ts
        self._ids = Numbering()
        self._store = RowStore(schema_of([*self.columns, TIMESTAMP] if with_ts else self.columns))
        self._version = 0

    @property
    def extent(self) -> Extent:
        with self.lock:
            return Extent(self._version, 0, len(self._store))

    @property
    def nbytes(self) -> int:
        with self.lock:
            return self._ids.nbytes + self._store.nbytes

    def add(self, batch: pa.RecordBatch) -> Ints:
        """Adds those rows of ``Changes.rows`` that are new; returns their ids in the order of their slots."""
        ids: Ints = batch.column(0).to_numpy()
        fresh = self._ids.add(ids)
        if not fresh.any():
            return ids[:0]
        columns = batch.columns[2:]
        if self._with_ts:
            columns.append(pa.array(batch.column(1).to_numpy() * 1000).cast(_TS_TYPE))
        rows = pa.RecordBatch.from_arrays(columns, schema=self._store.schema)
        self._store.append(rows if fresh.all() else rows.filter(pa.array(fresh)))
        self._version += 1
        return ids[fresh]

    def slots(self, ids: Ints) -> Ints:
        """Returns the slot of each row id, -1 for unknown rows."""
        return self._ids.find(ids)

    def rows(self) -> Rows:
        return self._store.rows()

    def changed(self, slots: Slots, since: int) -> Mask:  # noqa: ARG002 (rows of a source never change)
        return np.zeros(len(slots), bool)

    def written(self, since: int) -> list[int] | None:  # noqa: ARG002 (rows of a source never change)
        return []

    def snapshot(self) -> StoredSnapshot:
        with self.lock:
            return StoredSnapshot(self.columns, self.extent, self.rows())
