"""Queries: the part of a view that viewers of different columns and offsets can share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evertable.errors import ColumnNotFoundError
from evertable.problems import nearest
from evertable.schema.columns import Column
from evertable.tables.pieces import Check, never
from evertable.tables.table import Slots, Snapshot
from evertable.views.columns import places_of
from evertable.views.filters import BoundFilter, Expression, bind, parse
from evertable.views.order import SortKey, order, resolve_sort
from evertable.views.view import View


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

        Raises FilterError or ColumnNotFoundError if it does not fit them. With ``missing_ok``, as after a swap, sort
        and filter see nulls in the columns that do not fit, which ``missing`` lists.
        """
        keys, unsorted = resolve_sort(self.sort, columns, missing_ok)
        where = None if self.where is None else bind(self.where, columns, missing_ok)
        unfiltered = () if where is None else where.missing
        return BoundQuery(keys, where, self.newest_first, tuple(dict.fromkeys([*unsorted, *unfiltered])))


@dataclass(frozen=True)
class BoundQuery:
    """A query for tables with certain columns, which it knows by place."""

    keys: tuple[SortKey, ...]
    where: BoundFilter | None
    newest_first: bool
    missing: tuple[str, ...]

    @property
    def plain(self) -> bool:
        """Whether all rows are shown by arrival (or newest first), so that no order has to be computed."""
        return not self.keys and self.where is None

    def order(self, snapshot: Snapshot, check: Check = never) -> Slots:
        """Returns the slots of the rows that pass, in the order in which they are shown; see ``order.order``."""
        return order(snapshot, self.keys, self.where, self.newest_first, check)


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
