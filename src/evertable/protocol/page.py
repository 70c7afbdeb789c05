"""Pages: the rows that a viewer of a view sees at one moment, all of one generation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evertable.protocol.answers import Stamp
from evertable.schema.columns import Column

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Page:
    """A page as a client receives it. Pages of one table are ordered by (``publication``, ``version``)."""

    table: str
    generation: int
    publication: int
    version: int
    total: int
    """The number of rows that pass the filter, regardless of offset and limit."""
    offset: int
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    missing: tuple[str, ...] = ()
    """Columns that the view names and the table does not have."""

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.publication, self.version, self.generation)

    def dicts(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class PageRows:
    """A page's rows as a server keeps them: their keys, their values, and each row as JSON, encoded once."""

    keys: Sequence[int]
    """Identifies a row across pages; unique within a page."""
    values: Sequence[Row]
    json: Sequence[bytes]

    @classmethod
    def of(cls, keys: Sequence[int], values: Sequence[Row]) -> PageRows:
        # Copied, because orjson's results occupy a kilobyte each: keeping 10,000 of them is six times slower.
        return cls(keys, values, [memoryview(orjson.dumps(row)).tobytes() for row in values])


def described(columns: Iterable[Column]) -> list[dict[str, str]]:
    """Returns columns as the protocol and REST have them."""
    return [{"name": column.name, "type": str(column.type)} for column in columns]


def page_tail(
    table: str,
    stamp: Stamp,
    total: int,
    offset: int,
    columns: Iterable[Column],
    rows: Iterable[bytes],
    missing: Sequence[str] = (),
) -> bytes:
    """Returns a page frame without its prefix, from rows as JSON; with ``{`` in front it is the answer of REST."""
    heads = orjson.dumps(described(columns))
    lacking = b',"missing":' + orjson.dumps(missing) if missing else b""
    named = orjson.dumps(table)
    start = b'"table":%b,%b,"total":%d,"offset":%d,"columns":%b,"rows":[' % (named, stamp.json, total, offset, heads)
    return b"%b%b]%b}" % (start, b",".join(rows), lacking)
