"""Computes which rows of a table pass a view's filter, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evertable.errors import ColumnNotFoundError
from evertable.problems import nearest
from evertable.schema.columns import Column
from evertable.tables.pieces import Check, never
from evertable.tables.table import Slots, Snapshot
from evertable.views.columns import ColumnReader, places_of
from evertable.views.filters import BoundFilter
from evertable.views.sort_keys import sort_arrays

_SPARSE = 8  # if fewer than one row in eight passes, taking those is cheaper than reading whole columns


@dataclass(frozen=True)
class SortKey:
    """A column to sort by."""

    column: int
    descending: bool = False


def resolve_sort(
    sort: Sequence[str], columns: Sequence[Column], missing_ok: bool = False
) -> tuple[tuple[SortKey, ...], tuple[str, ...]]:
    """Returns the keys that ``View.sort`` names, and the unknown names, which are an error unless ``missing_ok``.

    An entry that equals a column's name is that column; otherwise ``-name`` is that column, descending. If a column is
    named twice, the first entry counts.
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
    snapshot: Snapshot,
    keys: Sequence[SortKey] = (),
    where: BoundFilter | None = None,
    newest_first: bool = False,
    check: Check = never,
) -> Slots:
    """Returns the slots of the rows that pass, in order: ties by arrival (or newest first), nulls always last.

    ``check`` is called between steps; the work ends if it raises.
    """
    extent, columns = snapshot.extent, ColumnReader(snapshot, check=check)
    mask = None if where is None else where.mask(snapshot, check)
    rows = np.arange(extent.total) if mask is None else pc.indices_nonzero(mask).to_numpy().astype(np.int64)
    if keys:
        by = [key.column for key in keys]
        if mask is None:
            values = [columns.column(i) for i in by]
        elif len(rows) * _SPARSE < extent.total:
            values = [pa.chunked_array([array]) for array in snapshot.take(rows + extent.first, by).columns]
        else:
            values = [columns.column(i).filter(mask) for i in by]
        rows = rows[_sorted(values, [key.descending for key in keys], newest_first, check)]
    elif newest_first:
        rows = rows[::-1]
    return rows + extent.first


def _sorted(
    columns: Sequence[pa.ChunkedArray], descending: Sequence[bool], newest_first: bool, check: Check
) -> npt.NDArray[np.uint64]:
    """Returns the rows' places in sorted order. Almost all of the time is Arrow's, which releases the GIL."""
    arrays, directions = [], []
    for column, down in zip(columns, descending, strict=True):
        check()
        parts = sort_arrays(column)
        arrays += parts
        directions += ["descending" if down else "ascending"] * len(parts)
    if newest_first:
        arrays.append(pa.array(np.arange(len(columns[0]))))
        directions.append("descending")
    names = [str(i) for i in range(len(arrays))]
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    sort_keys = list(zip(names, directions, strict=True))
    check()
    places: npt.NDArray[np.uint64] = pc.sort_indices(batch, sort_keys=sort_keys).to_numpy()  # a stable sort
    return places
