"""A snapshot whose columns have different chunks, which do not start where their buffers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evertable.schema.columns import Column
from evertable.tables.table import Extent, Slots, schema_of


class ChunkedSnapshot:
    def __init__(
        self, columns: Sequence[Column], rows: Sequence[Sequence[Any]], first: int = 0, chunk: int = 1_000_000
    ) -> None:
        self.columns = tuple(columns)
        self.extent = Extent(1, first, len(rows))
        self._rows = rows
        self._chunk = chunk
        self._schema = schema_of(self.columns)

    def column(self, index: int) -> pa.ChunkedArray:
        kind = self._schema.types[index]
        values = [row[index] for row in self._rows]
        whole = pa.array([*values[:1], *values], kind)[len(values[:1]) :]
        size = self._chunk + index
        return pa.chunked_array([whole[i : i + size] for i in range(0, len(values), size)], kind)

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        rows = [self._rows[slot - self.extent.first] for slot in slots.tolist()]
        return np.array([sum(len(row[i]) for i in columns if isinstance(row[i], str)) for row in rows], np.int64)

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        rows = [self._rows[slot - self.extent.first] for slot in slots.tolist()]
        fields = [self._schema.field(index) for index in columns]
        arrays = [pa.array([row[index] for row in rows], self._schema.types[index]) for index in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
