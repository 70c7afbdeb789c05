"""Reads tables for one request: pages of rows, and a summary of each table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from evertable.errors import NotReadyError, TableNotFoundError
from evertable.live.batches import batches, is_heavy
from evertable.protocol.answers import Stamp
from evertable.protocol.page import PageRows, page_tail
from evertable.protocol.values import rows_of
from evertable.schema.columns import Column
from evertable.server.requests import Pairs, view_of
from evertable.tables.catalog import Catalog, Publication
from evertable.tables.pieces import Check, never
from evertable.tables.table import Table
from evertable.views.query import Query, columns_of

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


def described(columns: Sequence[Column]) -> list[dict[str, str]]:
    return [{"name": column.name, "type": str(column.type)} for column in columns]


def is_quick(pairs: Pairs) -> bool:
    """Whether the parameters describe a small page without sort and filter."""
    given = {name: value for name, value in pairs if value}
    limit = given.get("limit", "0")
    return not given.keys() & {"sort", "filter"} and limit.isdecimal() and len(limit) < 16 and int(limit) <= QUICK_ROWS


def read_page(catalog: Catalog, name: str, pairs: Pairs, max_page: int, check: Check = never) -> bytes:
    """Returns the page that the parameters describe as JSON, all rows of one version; calls ``check`` between steps."""
    current, table = find(catalog, name)
    view = view_of(pairs, table.columns, max_page)
    query = Query.parse(view).bind(table.columns)
    places, _ = columns_of(view, table.columns)
    columns = [table.columns[place] for place in places]
    if query.plain:
        with table.lock:
            extent = table.extent
            slots = extent.window(view.offset, view.limit, view.newest_first)
            version, total = extent.version, extent.total
            taken: Iterable[pa.RecordBatch]
            if is_heavy(table, slots, places):
                taken = batches(table.snapshot(), slots, places, check)  # read below, without the lock
            else:
                taken = [table.take(slots, places)]
    else:
        snapshot = table.snapshot()
        ordered = query.order(snapshot, check)
        version, total = snapshot.extent.version, len(ordered)
        taken = batches(snapshot, ordered[view.offset : view.offset + view.limit], places, check)
    values = [row for batch in taken for row in rows_of(batch, columns)]
    rows = PageRows.of(range(len(values)), values).json
    stamp = Stamp(current.number, version, current.generation)
    return b"{" + page_tail(name, stamp, total, view.offset, columns, rows)
