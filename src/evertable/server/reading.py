"""Reads tables for one request: pages of rows, and a summary of each table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evertable.errors import NotReadyError, TableNotFoundError
from evertable.live.batches import batches, read_in_batches
from evertable.protocol.answers import Stamp
from evertable.protocol.page import PageRows, described, page_tail
from evertable.protocol.values import rows_of
from evertable.schema.columns import Column
from evertable.server.requests import Pairs, view_of
from evertable.tables.catalog import Catalog, Publication
from evertable.tables.table import Check, Table, never
from evertable.views.query import BoundQuery, Query, columns_of
from evertable.views.view import MAX_INTEGER, View

QUICK_ROWS = 1_000


def find(catalog: Catalog, name: str) -> tuple[Publication, Table]:
    """Returns the table behind a public name, and the publication that it belongs to."""
    current = catalog.current
    if (table := current.tables.get(name)) is not None:
        return current, table
    if name in catalog.names:
        raise NotReadyError(f"The table '{name}' has no rows to show yet: no generation is live.", "Try again soon.")
    raise TableNotFoundError(f"There is no table '{name}'; there are {', '.join(catalog.names)}.")


def table_info(catalog: Catalog, name: str) -> dict[str, Any]:
    """Returns a table's columns, version and number of rows."""
    current, table = find(catalog, name)
    return {**_summary(current, name), "columns": described(table.columns)}


def overview(catalog: Catalog) -> list[dict[str, Any]]:
    """Returns a summary of each public name, including those without a table yet."""
    current = catalog.current
    return [_summary(current, name) for name in catalog.names]


def _summary(current: Publication, name: str) -> dict[str, Any]:
    table = current.tables.get(name)
    extent = None if table is None else table.extent
    return {
        "name": name,
        "ready": extent is not None,
        "generation": current.generation,
        "publication": current.number,
        "version": None if extent is None else extent.version,
        "total": None if extent is None else extent.total,
    }


def is_quick(pairs: Pairs) -> bool:
    """Whether the parameters describe a small page without sort and filter."""
    given = {name: value for name, value in pairs if value}
    limit = given.get("limit", "0")
    return not given.keys() & {"sort", "filter"} and limit.isdecimal() and len(limit) < 16 and int(limit) <= QUICK_ROWS


@dataclass(frozen=True)
class Selection:
    """What the parameters of a request select from a table."""

    name: str
    publication: Publication
    table: Table
    view: View
    query: BoundQuery
    places: tuple[int, ...]

    @classmethod
    def of(cls, catalog: Catalog, name: str, pairs: Pairs, max_page: int = MAX_INTEGER) -> Selection:
        current, table = find(catalog, name)
        view = view_of(pairs, table.columns, max_page)
        query = Query.parse(view).bind(table.columns)
        places, _ = columns_of(view, table.columns)
        return cls(name, current, table, view, query, places)

    @property
    def columns(self) -> list[Column]:
        return [self.table.columns[place] for place in self.places]


def read_page(catalog: Catalog, name: str, pairs: Pairs, max_page: int, check: Check = never) -> bytes:
    """Returns the page that the parameters describe as JSON, all rows of one version; calls ``check`` between steps."""
    chosen = Selection.of(catalog, name, pairs, max_page)
    table, view = chosen.table, chosen.view
    if chosen.query.plain:
        with table.lock:
            extent = table.extent
            slots = extent.window(view.offset, view.limit, view.newest_first)
            version, total = extent.version, extent.total
            taken = read_in_batches(table, slots, chosen.places, check)
    else:
        snapshot = table.snapshot()
        ordered = chosen.query.order(snapshot, check)
        version, total = snapshot.extent.version, len(ordered)
        taken = batches(snapshot, ordered[view.offset : view.offset + view.limit], chosen.places, check)
    values = [row for batch in taken for row in rows_of(batch, chosen.columns)]
    rows = PageRows.of(range(len(values)), values).json
    stamp = Stamp(chosen.publication.number, version, chosen.publication.generation)
    return b"{" + page_tail(name, stamp, total, view.offset, chosen.columns, rows)
