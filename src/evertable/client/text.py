"""Values of a page as texts and JSON, for people and for pipes."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from evertable.protocol.frames import MAX_INTEGER
from evertable.protocol.page import Page, Row

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def json_value(value: Any) -> Any:
    """As docs/PROTOCOL.md writes it."""
    match value:
        case bool() | None:
            return value
        case int() if abs(value) > MAX_INTEGER:
            return str(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return f"{value.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
        case date():
            return value.isoformat()
    return value


def text(value: Any) -> str:
    """For people: nothing for null, otherwise what JSON has, without quotes."""
    match json_value(value):
        case None:
            return ""
        case str(written):
            return written
        case other:
            return json.dumps(other)


def tsv(values: Row) -> str:
    """One line; tabs, line ends and backslashes inside of texts are written ``\\t``, ``\\n``, ``\\r`` and ``\\\\``."""
    return "\t".join(text(value).translate(_ESCAPES) for value in values)


def json_line(page: Page, row: Row) -> str:
    """One line: the row as an object."""
    names = (column.name for column in page.columns)
    return json.dumps(dict(zip(names, map(json_value, row), strict=True)), ensure_ascii=False)


def news(old: Page | None, new: Page) -> list[Row]:
    """Rows that the old page did not show like this, in the order of the new one."""
    if old is None or old.columns != new.columns:
        return list(new.rows)
    left: dict[Row, int] = {}
    for row in old.rows:
        left[row] = left.get(row, 0) + 1
    fresh = []
    for row in new.rows:
        if left.get(row, 0):
            left[row] -= 1
        else:
            fresh.append(row)
    return fresh
