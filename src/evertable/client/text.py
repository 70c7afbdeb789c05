"""Formats values and rows as text, TSV and JSON that are safe to print in a terminal."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from evertable.protocol.page import Page, Row
from evertable.views.view import MAX_INTEGER

_UNSAFE = re.compile(
    "[\0-\x1f\x7f-\x9f"  # control characters, which a terminal obeys
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides of the writing direction
    "\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # invisible
    "\ud800-\udfff]"  # lone surrogates, which cannot be encoded
)


def json_value(value: Any) -> Any:
    """Returns the value as docs/PROTOCOL.md writes it in JSON."""
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
    """Formats a value for people: an empty text for null, otherwise its JSON without quotes."""
    match json_value(value):
        case None:
            return ""
        case str(written):
            return written
        case other:
            return json.dumps(other)


def visible(text: str) -> str:
    """Escapes characters that a terminal obeys or hides, as JSON does: ``\\t``, ``\\u001b``, ``\\u202e``."""
    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def tsv(values: Row) -> str:
    """Formats a row as one line, escaped as by ``visible`` with backslashes doubled, so that nothing is lost."""
    return "\t".join(visible(text(value).replace("\\", "\\\\")) for value in values)


def json_line(page: Page, row: Row) -> str:
    """Formats a row as a JSON object in one line that is safe for a terminal."""
    names = (column.name for column in page.columns)
    return visible(json.dumps(dict(zip(names, map(json_value, row), strict=True)), ensure_ascii=False))


def new_rows(old: Page | None, new: Page) -> list[Row]:
    """Returns the rows that are new or changed since the old page, in the order of the new one."""
    if old is None or old.columns != new.columns:
        return list(new.rows)
    unmatched = Counter(old.rows)
    added = []
    for row in new.rows:
        if unmatched[row]:
            unmatched[row] -= 1
        else:
            added.append(row)
    return added
