"""The order of a view's rows: which pass the filter, and in which order they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evertable.config.columns import Column
from evertable.config.problems import nearest
from evertable.errors import ColumnNotFoundError
from evertable.tables.table import Slots, Snapshot
from evertable.views.filters import BoundFilter
from evertable.views.names import places_of

_PREFIX = 8  # bytes
_KEPT = np.array([2**64 - 2 ** (64 - 8 * count) for count in range(_PREFIX + 1)], np.uint64)  # by how many are kept


@dataclass(frozen=True)
class SortKey:
    """A column to sort by."""

    column: int
    descending: bool = False


def resolve_sort(
    sort: Sequence[str], columns: Sequence[Column], missing_ok: bool = False
) -> tuple[tuple[SortKey, ...], tuple[str, ...]]:
    """The keys that ``View.sort`` names, and the names that no column has: those are an error unless ``missing_ok``.

    An entry that is a column's name is that column; else ``-name`` is that column, descending. A column counts once.
    """
    places = places_of(columns)
    keys: dict[int, SortKey] = {}
    missing: dict[str, None] = {}
    for entry in sort:
        descending = entry not in places and entry.startswith("-")
        name = entry[1:] if descending else entry
        if name in places:
            keys.setdefault(places[name], SortKey(places[name], descending))
        elif missing_ok:
            missing[name] = None
        else:
            raise ColumnNotFoundError(f"There is no column '{name}' to sort by; {nearest(name, places)}")
    return tuple(keys.values()), tuple(missing)


def order(
    snapshot: Snapshot, keys: Sequence[SortKey] = (), where: BoundFilter | None = None, newest_first: bool = False
) -> Slots:
    """The slots of the rows that pass, in order: ties as they arrived (or newest first), nulls last either way."""
    extent = snapshot.extent
    mask = None if where is None else where.mask(snapshot)
    rows = np.arange(extent.total) if mask is None else pc.indices_nonzero(mask).to_numpy().astype(np.int64)
    if keys:
        columns = [snapshot.column(key.column) for key in keys]
        if mask is not None:
            columns = [column.filter(mask) for column in columns]
        rows = rows[_sorted(columns, [key.descending for key in keys], newest_first)]
    elif newest_first:
        rows = rows[::-1]
    return rows + extent.first


def _sorted(
    columns: Sequence[pa.ChunkedArray], descending: Sequence[bool], newest_first: bool
) -> npt.NDArray[np.uint64]:
    """The places of the rows in order. All of the work is Arrow's and releases the interpreter's lock."""
    arrays, directions = [], []
    for column, down in zip(columns, descending, strict=True):
        array = column.combine_chunks() if not pa.types.is_string(column.type) else _whole(column)
        parts = [_prefix(array), array] if pa.types.is_large_string(array.type) else [array]
        arrays += parts
        directions += ["descending" if down else "ascending"] * len(parts)
    if newest_first:
        arrays.append(pa.array(np.arange(len(arrays[0]))))
        directions.append("descending")
    names = [str(i) for i in range(len(arrays))]
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    sort_keys = list(zip(names, directions, strict=True))
    places: npt.NDArray[np.uint64] = pc.sort_indices(batch, sort_keys=sort_keys).to_numpy()  # it is stable
    return places


def _whole(column: pa.ChunkedArray) -> pa.LargeStringArray:
    """A text column in one piece, with offsets that no amount of text overflows."""
    return column.cast(pa.large_string()).combine_chunks()


def _prefix(array: pa.LargeStringArray) -> pa.UInt64Array:
    """The first eight bytes in which texts differ, as numbers of the same order.

    Sorting by these and then by the text itself takes a third of the time of sorting by the text alone.
    """
    skip = _common(array)
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset :][: len(array) + 1]
    begin, end = int(offsets[0]), int(offsets[-1])
    text = np.zeros(end - begin + _PREFIX, np.uint8)
    if end > begin:
        text[:-_PREFIX] = np.frombuffer(array.buffers()[2], np.uint8)[begin:end]
    windows = np.ndarray((end - begin + 1,), ">u8", text, strides=(1,))  # eight bytes from every byte on
    starts = np.minimum(offsets[:-1] - begin + skip, end - begin)
    kept = np.clip(np.diff(offsets) - skip, 0, _PREFIX)
    prefixes = windows[starts].astype(np.uint64) & _KEPT[kept]
    return pa.array(prefixes, mask=pc.is_null(array).to_numpy(zero_copy_only=False))


def _common(array: pa.LargeStringArray) -> int:
    """How many bytes all texts begin with alike: as many as the least and the greatest of them."""
    extremes = pc.min_max(array)
    if not extremes["min"].is_valid:
        return 0
    low, high = (np.frombuffer(extremes[name].as_buffer(), np.uint8) for name in ("min", "max"))
    shorter = min(len(low), len(high))
    differ = np.flatnonzero(low[:shorter] != high[:shorter])
    return int(differ[0]) if len(differ) else shorter
