"""Column types: what a source's columns may hold, spelled as in ``evertable.yaml``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

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


KEYLESS = frozenset({Kind.FLOAT, Kind.DOUBLE, Kind.JSON})  # types without an equality to join on


class RecordField(StrEnum):
    """What a column may take from the Kafka record itself (``from: kafka.timestamp``)."""

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
    """One column's type; precision and scale count for decimals only."""

    kind: Kind
    precision: int = 0
    scale: int = 0

    @classmethod
    def parse(cls, text: str) -> ColumnType:
        """The type that ``text`` spells; ValueError says what would have been right."""
        spelled = text.strip().lower()
        if match := _DECIMAL.fullmatch(spelled):
            precision, scale = int(match[1]), int(match[2])
            if not 1 <= precision <= MAX_PRECISION or scale > precision:
                raise ValueError(f"'{text}': decimal(p,s) needs 1 ≤ p ≤ {MAX_PRECISION} and s ≤ p")
            return cls(Kind.DECIMAL, precision, scale)
        if spelled in set(Kind) - {Kind.DECIMAL}:
            return cls(Kind(spelled))
        known = ", ".join(f"{kind}(p,s)" if kind is Kind.DECIMAL else kind for kind in Kind)
        raise ValueError(f"'{text}' is no column type; known are {known}")

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.kind is Kind.DECIMAL else self.kind.value


@dataclass(frozen=True)
class Column:
    """A named, typed column; ``record_field`` is set where it comes from the Kafka record, not from its JSON."""

    name: str
    type: ColumnType
    record_field: RecordField | None = None
