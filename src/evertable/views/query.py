"""Queries: the part of a view that viewers of different columns and offsets can share.

A query says which rows of a table are shown, and in which order.
"""

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
from evertable.tables.table import Check, Slots, Snapshot, never
from evertable.views.columns import ColumnReader, places_of
from evertable.views.filters import BoundFilter, Expression, bind, parse
from evertable.views.sort_keys import sort_arrays
from evertable.views.view import View

_SPARSE = 8  # if fewer than one row in eight passes, taking those is cheaper than reading whole columns


@dataclass(frozen=True)
class Query:
    """A parsed sort, filter and direction; equal queries have the same order on the same table."""

    sort: tuple[str, ...] = ()
    where: Expression | None = None
    newest_first: bool = False

    @classmethod
    def parse(cls, view: View) -> Query:
        """Returns the query of a view; raises FilterError or FilterTooLongError if its filter is invalid."""
        return cls(view.sort, parse(view.filter), view.newest_first)

    @property
    def plain(self) -> bool:
        """Whether it neither sorts nor filters."""
        return not self.sort and self.where is None

    def bind(self, columns: Sequence[Column], missing_ok: bool = False) -> BoundQuery:
        """Returns the query for tables with these columns.

        A sort entry that equals a column's name is that column; otherwise ``-name`` is that column, descending. If a
        column is named twice, the first entry counts. Raises FilterError or ColumnNotFoundError if the query does not
        fit the columns. With ``missing_ok``, as after a swap, sort and filter see nulls in the columns that do not fit,
        which ``missing`` lists.
        """
        places = places_of(columns)
        keys: dict[int, bool] = {}
        missing: dict[str, None] = {}
        for entry in self.sort:
            descending = entry not in places and entry.startswith("-")
            name = entry[1:] if descending else entry
            if name in places:
                keys.setdefault(places[name], descending)
            elif missing_ok:
                missing[name] = None
            else:
                raise ColumnNotFoundError(f"There is no column '{name}' to sort by; {nearest(name, places)}")
        where = None if self.where is None else bind(self.where, columns, missing_ok)
        missing |= dict.fromkeys(where.missing if where else ())
        return BoundQuery(tuple(keys.items()), where, self.newest_first, tuple(missing))


@dataclass(frozen=True)
class BoundQuery:
    """A query for tables with certain columns, which it knows by place."""

    keys: tuple[tuple[int, bool], ...] = ()
    """The columns to sort by, and whether descending."""
    where: BoundFilter | None = None
    newest_first: bool = False
    missing: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether all rows are shown by arrival (or newest first), so that no order has to be computed."""
        return not self.keys and self.where is None

    def order(self, snapshot: Snapshot, check: Check = never) -> Slots:
        """Returns the slots of the rows that pass, in order: ties by arrival (or newest first), nulls always last.

        ``check`` is called between steps; the work ends if it raises.
        """
        extent, columns = snapshot.extent, ColumnReader(snapshot, check=check)
        mask = None if self.where is None else self.where.mask(snapshot, check)
        rows = np.arange(extent.total) if mask is None else pc.indices_nonzero(mask).to_numpy().astype(np.int64)
        if self.keys:
            by = [column for column, _ in self.keys]
            if mask is None:
                values = [columns.column(i) for i in by]
            elif len(rows) * _SPARSE < extent.total:
                values = [pa.chunked_array([array]) for array in snapshot.take(rows + extent.first, by).columns]
            else:
                values = [columns.column(i).filter(mask) for i in by]
            rows = rows[self._sorted(values, check)]
        elif self.newest_first:
            rows = rows[::-1]
        return rows + extent.first

    def _sorted(self, columns: Sequence[pa.ChunkedArray], check: Check) -> npt.NDArray[np.uint64]:
        """Returns the rows' places in sorted order. Almost all of the time is Arrow's, which releases the GIL."""
        arrays, directions = [], []
        for column, (_, descending) in zip(columns, self.keys, strict=True):
            check()
            parts = sort_arrays(column)
            arrays += parts
            directions += ["descending" if descending else "ascending"] * len(parts)
        if self.newest_first:
            arrays.append(pa.array(np.arange(len(columns[0]))))
            directions.append("descending")
        names = [str(i) for i in range(len(arrays))]
        batch = pa.RecordBatch.from_arrays(arrays, names=names)
        sort_keys = list(zip(names, directions, strict=True))
        check()
        places: npt.NDArray[np.uint64] = pc.sort_indices(batch, sort_keys=sort_keys).to_numpy()  # a stable sort
        return places


def columns_of(
    view: View, columns: Sequence[Column], missing_ok: bool = False
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Returns the places of the columns that a view shows, and the unknown names.

    A view without names shows all columns; a repeated name counts once, where it comes first. An unknown name is an
    error; with ``missing_ok`` it is left out, and if no column remains, all are shown.
    """
    everything = tuple(range(len(columns)))
    if view.columns is None:
        return everything, ()
    places = places_of(columns)
    names = tuple(dict.fromkeys(view.columns))
    missing = tuple(name for name in names if name not in places)
    if missing and not missing_ok:
        raise ColumnNotFoundError(f"There is no column '{missing[0]}' to show; {nearest(missing[0], places)}")
    shown = tuple(places[name] for name in names if name in places)
    return (everything if missing and not shown else shown), missing
