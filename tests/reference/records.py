"""Parses a source record to a row of typed values, or to a reject with its condition.

A slow and obvious implementation of docs/CHANGELOG-FORMAT.md, with which tests compare the engine's parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.reference.json_text import BLANK, NotJsonError, Token, TooDeepError, first_value, members
from tests.reference.values import FaultError, value_of

from evertable.changelog.ids import MAX_OFFSET, MAX_PARTITION
from evertable.schema.columns import Column, RecordField

MAX_TIMESTAMP = (2**63 - 1) // 1000  # milliseconds; Spark counts microseconds


@dataclass(frozen=True)
class SourceRecord:
    """A Kafka record of a source."""

    partition: int
    offset: int
    timestamp: int
    value: bytes | None
    key: bytes | None = None


@dataclass(frozen=True)
class Reject:
    """The condition of a reject, and the column that caused it, if any."""

    condition: str
    column: str | None = None


def meaning(record: SourceRecord, columns: Sequence[Column]) -> tuple[Any, ...] | Reject:
    """Returns the record's values in the order of the columns, or why it is rejected."""
    if record.partition > MAX_PARTITION or record.offset > MAX_OFFSET:
        return Reject("ID_OUT_OF_RANGE")
    if abs(record.timestamp) >= MAX_TIMESTAMP:
        return Reject("TIMESTAMP_OUT_OF_RANGE")
    if record.value is None:
        return Reject("TOMBSTONE")
    fields = _fields(record.value)
    if isinstance(fields, Reject):
        return fields
    values = []
    for column in columns:
        try:
            values.append(_column(column, record, fields))
        except FaultError as fault:
            return Reject(fault.condition, column.name)  # of several the first in configured order
    return tuple(values)


def _fields(value: bytes) -> dict[str, list[Token]] | Reject:
    """Returns the object's fields; errors of the whole value precede those of columns."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return Reject("INVALID_UTF8")
    if text.startswith("\ufeff"):  # RFC 8259 lets a reader ignore a byte order mark; here it is refused, and named
        return Reject("INVALID_JSON")
    if not text.strip(BLANK):
        return Reject("NOT_AN_OBJECT")
    try:
        tokens, rest = first_value(text)
    except NotJsonError:
        return Reject("INVALID_JSON")
    except TooDeepError:
        return Reject("TOO_DEEP")
    if tokens[0].text != "{":
        return Reject("NOT_AN_OBJECT")
    if rest.strip(BLANK):
        return Reject("TRAILING_TEXT")
    return members(tokens)


def _column(column: Column, record: SourceRecord, fields: dict[str, list[Token]]) -> Any:
    match column.record_field:
        case None:
            return value_of(column.type, fields[column.name]) if column.name in fields else None
        case RecordField.PARTITION:
            return record.partition
        case RecordField.OFFSET:
            return record.offset
        case RecordField.TIMESTAMP:
            try:
                return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=record.timestamp)
            except OverflowError:
                raise FaultError("OUT_OF_RANGE") from None
        case RecordField.KEY:
            try:
                return None if record.key is None else record.key.decode("utf-8")
            except UnicodeDecodeError:
                raise FaultError("INVALID_UTF8") from None
