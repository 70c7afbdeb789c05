"""A view: which part of a table someone looks at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """Columns, sort, filter, offset and limit, as docs/PROTOCOL.md describes them; equal views share their work."""

    columns: tuple[str, ...] | None = None
    sort: tuple[str, ...] = ()
    """As sent: a name, or ``-name``; what it means depends on the table's columns."""
    filter: str = ""
    offset: int = 0
    limit: int = 100
    newest_first: bool = False
