"""The part of a table that a viewer asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """Columns, sort, filter, offset and limit, as in docs/PROTOCOL.md; equal views share their work."""

    columns: tuple[str, ...] | None = None
    sort: tuple[str, ...] = ()
    """As sent: a name, or ``-name``; resolved once the table's columns are known."""
    filter: str = ""
    offset: int = 0
    limit: int = 100
    newest_first: bool = False
