"""Decodes the JSON values of a page to Python's types: Decimal, datetime, date, int."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeVar

from evertable.protocol.page import Row
from evertable.schema.columns import Column, ColumnType, Kind

T = TypeVar("T")


def from_json(column: ColumnType, value: Any) -> Any:
    """Decodes a JSON value of a column of this type; null is None."""
    decode = _DECODERS.get(column.kind)
    return value if value is None or decode is None else decode(value)


def rows_from_json(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> list[Row]:
    """Decodes the rows of a page, column by column."""
    if not rows or not columns:
        return [tuple(row) for row in rows]
    values = []
    for column, given in zip(columns, zip(*rows, strict=True), strict=True):
        decode = _DECODERS.get(column.type.kind)
        values.append(given if decode is None else [None if v is None else decode(v) for v in given])
    return list(zip(*values, strict=True))


def _or_text(parse: Callable[[str], T]) -> Callable[[str], T | str]:
    """Leaves texts as they are if their year is before 1 or after 9999, which Python does not support."""

    def decode(text: str) -> T | str:
        try:
            return parse(text)
        except ValueError:
            return text

    return decode


_DECODERS: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.LONG: int,
    Kind.FLOAT: float,
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.DATE: _or_text(date.fromisoformat),
    Kind.TIMESTAMP: _or_text(datetime.fromisoformat),
}
