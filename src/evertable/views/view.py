"""The part of a table that a viewer asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

MAX_INTEGER: Final = 2**53 - 1  # the largest integer that JavaScript holds exactly; no counter reaches it
MAX_FILTER_CHARS: Final = 2_000

Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]


@dataclass(frozen=True)
class View:
    """Columns, sort, filter, offset and limit, as in docs/PROTOCOL.md; equal views share their work."""

    columns: tuple[str, ...] | None = None
    sort: tuple[str, ...] = ()
    """As sent: a name, or ``-name``; resolved once the table's columns are known."""
    filter: str = ""
    offset: Count = 0
    limit: Count = 100
    newest_first: bool = False
