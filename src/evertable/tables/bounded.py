"""Small tables that keep their newest rows: status, logs, control messages, generations, dead letters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evertable.schema.columns import Column
from evertable.tables.table import Extent, Mask, Slots, batch_of, schema_of

BoundedRow = tuple[Any, ...]


class BoundedTable:
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
        with self.lock:
            rows = [self._rows[slot] for slot in slots.tolist()]
        return _batch(self.columns, rows, columns)

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        with self.lock:
            return _text_bytes([self._rows[slot] for slot in slots.tolist()], columns)

    def snapshot(self) -> BoundedSnapshot:
        with self.lock:
            return BoundedSnapshot(self.columns, self.extent, self.rows())

    def _write(self, rows: Sequence[tuple[Hashable | None, BoundedRow]]) -> None:
        if not rows:
            return
        fitting = self._fitting([row for _, row in rows])  # first, so that a bad row leaves the table unchanged
        with self.lock:
            self._version += 1
            for (key, _), row in zip(rows, fitting, strict=True):
                slot = self._slots.get(key, self._first + len(self._rows)) if key is not None else None
                slot = self._first + len(self._rows) if slot is None else slot
                if key is not None:
                    self._slots[key], self._keys[slot] = slot, key
                self._rows[slot] = row
                self._versions[slot] = self._version
                if len(self._rows) > self._limit:
                    self._drop_first()
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
            except UnicodeEncodeError:
                values = tuple(_encodable(value) if isinstance(value, str) else value for value in values)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"the column '{field.name}' cannot hold this: {error}") from None
            columns.append(values)
        return list(zip(*columns, strict=True)) if columns else list(rows)

    def _drop_first(self) -> None:
        del self._rows[self._first], self._versions[self._first]
        if (key := self._keys.pop(self._first, None)) is not None:
            del self._slots[key]
        self._first += 1


class BoundedSnapshot:
    """The rows of a bounded table at one moment."""

    def __init__(self, columns: tuple[Column, ...], extent: Extent, rows: list[BoundedRow]) -> None:
        self.columns = columns
        self.extent = extent
        self._types = schema_of(columns).types
        self._rows = rows

    def column(self, index: int) -> pa.ChunkedArray:
        values = pa.array([row[index] for row in self._rows], self._types[index])
        return pa.chunked_array([values], self._types[index])

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        places = np.asarray(slots) - self.extent.first
        return _batch(self.columns, [self._rows[place] for place in places.tolist()], columns)

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        places = np.asarray(slots) - self.extent.first
        return _text_bytes([self._rows[place] for place in places.tolist()], columns)


def _text_bytes(rows: Sequence[BoundedRow], columns: Sequence[int]) -> Slots:
    """Counts characters, which is close enough as these tables are small."""
    return np.array([sum(len(row[i]) for i in columns if isinstance(row[i], str)) for row in rows], np.int64)


def _encodable(text: str) -> str:
    """Replaces unpaired surrogates, which UTF-8 cannot encode, by ``?``."""
    return text.encode("utf-8", "replace").decode()


def _batch(table: Sequence[Column], rows: Sequence[BoundedRow], columns: Sequence[int]) -> pa.RecordBatch:
    types = schema_of(table).types
    arrays = [pa.array([row[index] for row in rows], types[index]) for index in columns]
    return batch_of(table, columns, arrays, len(rows))
