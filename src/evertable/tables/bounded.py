"""Small tables that keep their newest rows: status, logs, control messages, generations, dead letters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evertable.schema.columns import Column
from evertable.tables.store import Rows, StoredSnapshot
from evertable.tables.table import Extent, Mask, Slots, Table, schema_of

BoundedRow = tuple[Any, ...]


class BoundedTable(Table):
    """A table of at most ``limit`` rows, appended or replaced by key; the oldest rows are dropped."""

    def __init__(self, columns: Sequence[Column], limit: int, on_change: Callable[[], None] = lambda: None) -> None:
        self.columns = tuple(columns)
        self.lock = threading.RLock()
        self._schema = schema_of(self.columns)
        self._limit = limit
        self._on_change = on_change
        self._rows: dict[int, BoundedRow] = {}  # by slot, in order of arrival
        self._versions: dict[int, int] = {}
        self._slots: dict[Hashable, int] = {}
        self._keys: dict[int, Hashable] = {}
        self._first = self._version = 0

    @property
    def extent(self) -> Extent:
        with self.lock:
            return Extent(self._version, self._first, len(self._rows))

    @property
    def nbytes(self) -> int:
        return sum(len(value) for row in self.rows() for value in row if isinstance(value, str | bytes))

    def rows(self) -> list[BoundedRow]:
        """Returns all rows, in order of arrival."""
        with self.lock:
            return list(self._rows.values())

    def append(self, rows: Iterable[BoundedRow]) -> None:
        """Appends rows."""
        self._write([(None, row) for row in rows])

    def put(self, rows: Mapping[Hashable, BoundedRow]) -> None:
        """Replaces the row with the same key, or appends, for each of these rows."""
        self._write(list(rows.items()))

    def changed(self, slots: Slots, since: int) -> Mask:
        with self.lock:
            return np.array([self._versions.get(slot, 0) > since for slot in slots.tolist()], bool)

    def written(self, since: int) -> list[int] | None:
        with self.lock:
            return sorted(slot for slot, version in self._versions.items() if version > since)

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        return self.snapshot(slots).take(np.arange(len(slots)), columns)

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        return self.snapshot(slots).text_bytes(np.arange(len(slots)), columns)

    def snapshot(self, slots: Slots | None = None) -> StoredSnapshot:
        """Returns a snapshot of the rows in these slots, by default of all."""
        with self.lock:
            extent = self.extent if slots is None else Extent(self._version, 0, len(slots))
            rows = self.rows() if slots is None else [self._rows[slot] for slot in slots.tolist()]
        values = zip(*rows, strict=True) if rows else [()] * len(self.columns)
        arrays = [pa.array(column, kind) for column, kind in zip(values, self._schema.types, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        return StoredSnapshot(self.columns, extent, Rows(self._schema, (batch,)))

    def _write(self, rows: Sequence[tuple[Hashable | None, BoundedRow]]) -> None:
        if not rows:
            return
        fitting = self._fitting([row for _, row in rows])  # first, so that a bad row leaves the table unchanged
        with self.lock:
            self._version += 1
            for (key, _), row in zip(rows, fitting, strict=True):
                end = self._first + len(self._rows)
                slot = end if key is None else self._slots.get(key, end)
                if key is not None:
                    self._slots[key], self._keys[slot] = slot, key
                self._rows[slot] = row
                self._versions[slot] = self._version
                if len(self._rows) > self._limit:
                    del self._rows[self._first], self._versions[self._first]
                    self._slots.pop(self._keys.pop(self._first, None), None)
                    self._first += 1
        self._on_change()

    def _fitting(self, rows: Sequence[BoundedRow]) -> list[BoundedRow]:
        """Returns the rows as they can be shown; ValueError if one does not fit, as no viewer could read the table."""
        for row in rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} values for a table of {len(self.columns)} columns")
        columns = []
        for field, values in zip(self._schema, zip(*rows, strict=True), strict=True):
            try:
                pa.array(values, field.type)
            except UnicodeEncodeError:  # unpaired surrogates become question marks
                values = tuple(v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"the column '{field.name}' cannot hold this: {error}") from None
            columns.append(values)
        return list(zip(*columns, strict=True)) if columns else list(rows)
