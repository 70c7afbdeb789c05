"""Values of a page as texts and JSON, for people and for pipes."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from evertable.protocol.frames import MAX_INTEGER
from evertable.protocol.page import Page, Row

_UNSAFE = re.compile(
    "[\0-\x1f\x7f-\x9f"  # controls: they move the cursor, colour the terminal, or type into it
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides of the direction of writing
    "\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # unseen, or line ends
    "\ud800-\udfff]"  # halves of characters, which no terminal takes
)
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


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


def visible(text: str) -> str:
    """Writes what a terminal would obey, or not show, as JSON escapes it: ``\\t``, ``\\u001b``, ``\\u202e``."""
    return _UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    written = "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return _SHORT.get(found[0], written)


def tsv(values: Row) -> str:
    """One line: what ``visible`` escapes is escaped, and a backslash is doubled, so that nothing is lost."""
    return "\t".join(visible(text(value).replace("\\", "\\\\")) for value in values)


def json_line(page: Page, row: Row) -> str:
    """One line: the row as an object, safe for a terminal and with nothing lost."""
    names = (column.name for column in page.columns)
    return visible(json.dumps(dict(zip(names, map(json_value, row), strict=True)), ensure_ascii=False))


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
