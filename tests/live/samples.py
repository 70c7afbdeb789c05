"""Sample columns, rows, tables and catalogs for tests of live views and of the server."""

from __future__ import annotations

from typing import Any

from evertable.config.server import Server
from evertable.schema.columns import Column, parse_columns
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog

USERS: tuple[Column, ...] = parse_columns({"userId": "string", "name": "string", "age": "long"})
PEOPLE = [("u1", "Ada", 36), ("u2", "Bob", None), ("u3", 'Çelik, "Eve"\n', 41)]


def settings(**given: Any) -> Server:
    """Returns a server's settings for tests, with any free port."""
    return Server.model_validate({"port": 0, **given})


def table(
    columns: tuple[Column, ...] = USERS, rows: list[tuple[Any, ...]] = PEOPLE, limit: int = 100_000
) -> BoundedTable:
    created = BoundedTable(columns, limit)
    created.append(rows)
    return created


def numbered(count: int) -> list[tuple[Any, ...]]:
    """Returns rows for ``USERS`` with ids and ages from 0."""
    return [(f"u{i}", f"name {i}", i) for i in range(count)]


def catalog_of(**tables: BoundedTable) -> Catalog:
    """Returns a catalog whose names are all live, and whose tables notify it of changes."""
    catalog = Catalog(tables)
    for shown in tables.values():
        notify_of_changes(shown, catalog)
    catalog.publish(1, tables)
    return catalog


def notify_of_changes(changing: BoundedTable, catalog: Catalog) -> None:
    changing._on_change = catalog.notify  # a catalog is built from its tables, so it cannot be given to them
