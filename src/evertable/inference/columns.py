"""Reads the newest records of a topic, and infers its columns: a type for each field, and warnings about guesses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evertable.kafka.consumer import Probe

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)")
_LONGEST = 2**63
_NUMBERS = {"long", "double"}
_RARE = 0.5


@dataclass(frozen=True)
class Sample:
    """Records of a topic and the columns inferred from them: names with types, in order of appearance."""

    topic: str
    rows: tuple[dict[str, Any], ...]
    columns: dict[str, str]
    warnings: tuple[str, ...]


def newest_values(
    properties: Mapping[str, Any], topic: str, count: int, *, timeout_s: float = 10.0
) -> list[bytes | None]:
    """Returns the values of about ``count`` records from all partitions; TopicNotFoundError, KafkaUnreachableError."""
    with Probe.open(properties, topic, timeout_s, {"auto.offset.reset": "earliest"}) as probe:
        bounds = probe.bounds(probe.partitions())
        per_partition = max(1, count // max(1, len(bounds)))
        starts = {partition: max(low, high - per_partition) for partition, (low, high) in bounds.items()}
        ends = {partition: high for partition, (_, high) in bounds.items()}
        values = (message.value() for message in probe.between(starts, ends))
        return [value if isinstance(value, bytes) else None for value in values]


def sample_of(topic: str, values: Iterable[bytes | None]) -> Sample:
    """Infers columns from the values of records."""
    count, rows = 0, []
    for value in values:
        count += 1
        if (row := _row(value)) is not None:
            rows.append(row)
    warnings = []
    if len(rows) < count:
        warnings.append(
            f"{count - len(rows)} of {count} records of {topic} are not JSON objects and would go to dead_letters"
        )
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        found = [row[name] for row in rows if name in row]
        columns[name], warning = _type_of(found)
        if warning:
            warnings.append(f"{topic}.{name} {warning}")
        elif len(found) < _RARE * len(rows):
            warnings.append(f"{topic}.{name} is in only {len(found)} of {len(rows)} records")
    return Sample(topic, tuple(rows), columns, tuple(warnings))


def _row(value: bytes | None) -> dict[str, Any] | None:
    try:
        record = json.loads(value or b"")
    except (ValueError, RecursionError):
        return None
    fields = record.items() if isinstance(record, dict) else ()
    return {name: field for name, field in fields if name.strip() and name.isprintable()} or None


def _type_of(values: Sequence[Any]) -> tuple[str, str]:
    """Returns a type for all values, and a warning if that is a guess."""
    kinds = {kind for value in values if (kind := _kind(value))}
    if not kinds:
        return "string", "was null in every sampled record: string is a guess"
    if len(kinds) == 1:
        return kinds.pop(), ""
    if kinds == _NUMBERS:
        return "double", ""
    if kinds <= {"string", "date", "timestamp"}:
        return "string", ""
    return "json", f"has values of several types ({', '.join(sorted(kinds))}): json accepts all of them"


def _kind(value: Any) -> str:
    """Returns the type of a value; empty for null, which every type accepts."""
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
