"""What every live table offers, whatever it is made of: slots to read by, a version that only grows, snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evertable.changelog.schema import arrow_type
from evertable.schema.columns import Column

Slots = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Extent:
    """Which slots a table holds at a version: ``total`` of them from ``first`` on, in order of arrival."""

    version: int
    first: int
    total: int

    @property
    def end(self) -> int:
        return self.first + self.total

    def window(self, offset: int, limit: int, newest_first: bool = False) -> Slots:
        """The slots of a page whose rows stand in order of arrival, or newest first."""
        start, stop = min(offset, self.total), min(offset + limit, self.total)
        if newest_first:
            return np.arange(self.end - 1 - start, self.end - 1 - stop, -1, dtype=np.int64)
        return np.arange(self.first + start, self.first + stop, dtype=np.int64)


class Readable(Protocol):
    """Rows by slot."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def extent(self) -> Extent: ...

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        """The rows of these slots, in that order, with these columns (by index); every slot must be there."""
        ...

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        """How many bytes of text each of these rows has in these columns, without reading the text."""
        ...


class Snapshot(Readable, Protocol):
    """A table as it was at one moment; any thread may read it for as long as it likes."""

    def column(self, index: int) -> pa.ChunkedArray:
        """A column's values in the order of slots, ``extent.total`` of them."""
        ...


class Table(Readable, Protocol):
    """A live table. It changes under its ``lock``; hold that to see several things of one version."""

    @property
    def lock(self) -> AbstractContextManager[Any]: ...

    def changed(self, slots: Slots, since: int) -> Mask:
        """In which of these slots a cell was written after that version; of no use for slots that came after it."""
        ...

    def written(self, since: int) -> list[int] | None:
        """The slots that were written in place after that version, in order; None if that is not known any more."""
        ...

    def snapshot(self) -> Snapshot: ...

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        ...


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of rows with these columns; names may repeat only if the configuration lets them."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def batch_of(columns: Sequence[Column], chosen: Sequence[int], arrays: Sequence[pa.Array], rows: int) -> pa.RecordBatch:
    """A batch of the chosen columns, also if there are none."""
    if not chosen:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(list(arrays), schema=schema_of([columns[index] for index in chosen]))
