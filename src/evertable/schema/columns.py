"""Columns of sources and their types, as written in ``evertable.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from evertable.problems import Problem, invalid, nearest

MAX_PRECISION = 38  # what a 128-bit decimal holds

_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


class Kind(StrEnum):
    STRING = "string"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    DATE = "date"
    TIMESTAMP = "timestamp"
    JSON = "json"


KEYLESS = frozenset({Kind.FLOAT, Kind.DOUBLE, Kind.JSON})  # types that no key may have


class RecordField(StrEnum):
    """Fields of the Kafka record that a column may hold (``from: kafka.timestamp``)."""

    TIMESTAMP = "kafka.timestamp"
    PARTITION = "kafka.partition"
    OFFSET = "kafka.offset"
    KEY = "kafka.key"


RECORD_FIELD_KINDS = {
    RecordField.TIMESTAMP: Kind.TIMESTAMP,
    RecordField.PARTITION: Kind.INT,
    RecordField.OFFSET: Kind.LONG,
    RecordField.KEY: Kind.STRING,
}


@dataclass(frozen=True)
class ColumnType:
    """A column's type; precision and scale are for decimals only."""

    kind: Kind
    precision: int = 0
    scale: int = 0

    @classmethod
    def parse(cls, text: str) -> ColumnType:
        """Parses a type such as ``long`` or ``decimal(10,2)``; ValueError."""
        spelled = text.strip().lower()
        if match := _DECIMAL.fullmatch(spelled):
            precision, scale = int(match[1]), int(match[2])
            if not 1 <= precision <= MAX_PRECISION or scale > precision:
                raise ValueError(f"'{text}': decimal(p,s) needs 1 ≤ p ≤ {MAX_PRECISION} and s ≤ p")
            return cls(Kind.DECIMAL, precision, scale)
        if spelled in set(Kind) - {Kind.DECIMAL}:
            return cls(Kind(spelled))
        known = ", ".join(f"{kind}(p,s)" if kind is Kind.DECIMAL else kind for kind in Kind)
        raise ValueError(f"'{text}' is not a column type; known are {known}")

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.kind is Kind.DECIMAL else self.kind.value


@dataclass(frozen=True)
class Column:
    """A named, typed column; with a ``record_field`` it comes from the Kafka record instead of its JSON."""

    name: str
    type: ColumnType
    record_field: RecordField | None = None

    @classmethod
    def parse(cls, name: str, spec: object) -> Column:
        """Parses ``long``, ``{type: long}`` or ``{from: kafka.offset}``; ValueError."""
        if not name.strip() or not name.isprintable():
            raise ValueError("a column's name must not be empty and must be printable")
        if isinstance(spec, str):
            return cls(name, ColumnType.parse(spec))
        if not isinstance(spec, Mapping):
            raise ValueError("has no type; write a type such as string, or {from: kafka.timestamp}")
        given = {str(key): value for key, value in spec.items() if value is not None}
        for key in given:
            if key not in ("type", "from"):
                raise ValueError(f"'{key}' is unknown; {nearest(key, ('type', 'from'))}")
        if not given or not all(isinstance(value, str) for value in given.values()):
            raise ValueError("needs a type (type: long) or an origin (from: kafka.timestamp)")
        stated = ColumnType.parse(given["type"]) if "type" in given else None
        if "from" in given:
            spelled = given["from"].strip().lower()
            if spelled not in set(RecordField):
                raise ValueError(f"'{given['from']}' is not a field of a Kafka record; {nearest(spelled, RecordField)}")
            record_field = RecordField(spelled)
            implied = ColumnType(RECORD_FIELD_KINDS[record_field])
            if stated not in (None, implied):
                raise ValueError(f"{record_field} is {implied}, not {stated}; leave the type out")
            return cls(name, implied, record_field)
        return cls(name, ColumnType.parse(given["type"]))


def parse_columns(raw: object) -> tuple[Column, ...]:
    """Parses the columns of a source, in order; reports every problem at once."""
    if isinstance(raw, tuple) and all(isinstance(column, Column) for column in raw):
        return raw
    if not isinstance(raw, Mapping):
        raise ValueError("must be a mapping (column: type)")
    if not raw:
        raise ValueError("is empty")
    columns, problems = [], []
    for name, spec in raw.items():
        try:
            columns.append(Column.parse(str(name), spec))
        except ValueError as error:
            problems.append(Problem((str(name),), str(error)))
    if problems:
        raise invalid(problems)
    return tuple(columns)
