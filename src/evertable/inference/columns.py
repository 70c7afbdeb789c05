"""Columns guessed from records: a type for each field, and what was unsure about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)")
_LONGEST = 2**63
_NUMBERS = {"long", "double"}
_RARE = 0.5


@dataclass(frozen=True)
class Sample:
    """What some records of a topic look like. ``columns`` are name: type, in the order in which fields were met."""

    topic: str
    rows: tuple[dict[str, Any], ...]
    columns: dict[str, str]
    doubts: tuple[str, ...]


def looked_at(topic: str, values: Iterable[bytes | None]) -> Sample:
    """The guess from the values of some records."""
    taken, rows = 0, []
    for value in values:
        taken += 1
        if (row := _row(value)) is not None:
            rows.append(row)
    doubts = []
    if len(rows) < taken:
        doubts.append(f"{taken - len(rows)} of {taken} records of {topic} are no JSON objects; they go to dead_letters")
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        found = [row[name] for row in rows if name in row]
        columns[name], doubt = _type_of(found)
        if doubt:
            doubts.append(f"{topic}.{name} {doubt}")
        elif len(found) < _RARE * len(rows):
            doubts.append(f"{topic}.{name} is in {len(found)} of {len(rows)} records only")
    return Sample(topic, tuple(rows), columns, tuple(doubts))


def _row(value: bytes | None) -> dict[str, Any] | None:
    try:
        read = json.loads(value or b"")
    except (ValueError, RecursionError):
        return None
    fields = read.items() if isinstance(read, dict) else ()
    return {name: one for name, one in fields if name.strip() and name.isprintable()} or None


def _type_of(values: Sequence[Any]) -> tuple[str, str]:
    """The type that takes all of them, and a doubt if there is one."""
    kinds = {kind for value in values if (kind := _kind(value))}
    if not kinds:
        return "string", "was null in every record that was looked at: string is a guess"
    if len(kinds) == 1:
        return kinds.pop(), ""
    if kinds == _NUMBERS:
        return "double", ""
    if kinds <= {"string", "date", "timestamp"}:
        return "string", ""
    return "json", f"holds values of several kinds ({', '.join(sorted(kinds))}): json takes them all"


def _kind(value: Any) -> str:
    """Empty for null, which every column takes."""
    match value:
        case None:
            return ""
        case bool():
            return "boolean"
        case int():
            return "long" if -_LONGEST <= value < _LONGEST else "json"
        case float():
            return "double"
        case str() if _DATE.fullmatch(value):
            return "date"
        case str() if _TIME.fullmatch(value):
            return "timestamp"
        case str():
            return "string"
    return "json"
