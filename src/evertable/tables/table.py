"""The interface of live tables: rows by slot, a version that only grows, snapshots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evertable.changelog.schema import arrow_type
from evertable.schema.columns import Column

Slots = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

Check: TypeAlias = Callable[[], None]
"""Called between pieces of long work; raises if the work should stop."""

_CELL_BYTES = 16  # of a cell without its text


@dataclass(frozen=True)
class Extent:
    """The slots that a table holds at a version: ``total`` of them from ``first`` on, in order of arrival."""

    version: int
    first: int
    total: int

    @property
    def end(self) -> int:
        return self.first + self.total

    def window(self, offset: int, limit: int, newest_first: bool = False) -> Slots:
        """Returns the slots of a page of rows by arrival, or newest first."""
        start, stop = min(offset, self.total), min(offset + limit, self.total)
        if newest_first:
            return np.arange(self.end - 1 - start, self.end - 1 - stop, -1, dtype=np.int64)
        return np.arange(self.first + start, self.first + stop, dtype=np.int64)


class Snapshot(Protocol):
    """A table at one moment: rows that are read by slot. Any thread may read it at any time."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def extent(self) -> Extent: ...

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        """Returns these columns (by index) of the rows in these slots, in that order; every slot must exist."""
        ...

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        """Returns the bytes of text that each of these rows has in these columns, without reading the text."""
        ...

    def column(self, index: int) -> pa.ChunkedArray:
        """Returns all values of a column, in the order of slots."""
        ...


class Table(ABC):
    """A live table. It changes under its ``lock``; hold that to read several things of one version."""

    columns: tuple[Column, ...]
    lock: AbstractContextManager[Any]

    @property
    @abstractmethod
    def extent(self) -> Extent: ...

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The approximate memory of the table."""

    @abstractmethod
    def snapshot(self) -> Snapshot: ...

    @abstractmethod
    def changed(self, slots: Slots, since: int) -> Mask:
        """Returns which of these slots were written after that version; they must have existed at it."""

    @abstractmethod
    def written(self, since: int) -> list[int] | None:
        """Returns the slots that were overwritten after that version, sorted; None if it is too long ago to know."""

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        return self.snapshot().take(slots, columns)

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        return self.snapshot().text_bytes(slots, columns)


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """Returns the Arrow schema of rows with these columns."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def batch_of(columns: Sequence[Column], chosen: Sequence[int], arrays: Sequence[pa.Array], rows: int) -> pa.RecordBatch:
    """Returns a batch of the chosen columns, which may be none."""
    if not chosen:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(list(arrays), schema=schema_of([columns[index] for index in chosen]))


def never() -> None:
    """The check of work that is never stopped."""


def pieces(
    rows: Snapshot, slots: Slots, columns: Sequence[int], max_rows: int, max_bytes: int
) -> Iterator[tuple[int, int]]:
    """Yields the start and stop of each piece of ``slots``.

    A piece has at most ``max_rows`` rows and about ``max_bytes`` in ``columns``, or it is a single larger row.
    """
    for start in range(0, len(slots), max_rows):
        stop = min(start + max_rows, len(slots))
        ends = np.cumsum(rows.text_bytes(slots[start:stop], columns) + _CELL_BYTES * len(columns))
        at = 0
        while at < len(ends):
            before = int(ends[at - 1]) if at else 0
            end = max(at + 1, int(np.searchsorted(ends, before + max_bytes, "right")))
            yield start + at, start + end
            at = end
