"""The layout of changelog records: docs/CHANGELOG-FORMAT.md as numpy and Arrow types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from evertable.schema.columns import Column, ColumnType, Kind
from evertable.schema.joins import JoinType

VERSION = 3
MAX_MATCHES = 5_000  # in one record of the keyed operator
MAX_RAW = 1_024  # bytes kept of a rejected record's value


class RecordKind(IntEnum):
    ROW = 1
    MATCHES = 2
    REJECT = 3
    BATCH = 4
    """Not a record but a message of several records."""
    BARRIER = 5
    QUARANTINE = 6


class Side(IntEnum):
    LEFT = 0
    RIGHT = 1


SourcePartition = tuple[Side, int]
"""A partition of a source's topic."""


class MatchMode(IntEnum):
    """How a record lists its matches."""

    NONE = 0
    IDS = 1
    IDS_WITH_TIMES = 2
    QUARANTINED = 3
    """It lists none, because its key has too many."""


class RejectMode(IntEnum):
    VALUE = 0
    TOMBSTONE = 1


_HEADER_FIELDS: list[tuple[Any, ...]] = [
    ("version", "u1"),
    ("kind", "u1"),
    ("side", "u1"),
    ("mode", "u1"),
    ("count", "<u4"),
    ("offset", "<i8"),
    ("timestamp", "<i8"),
    ("partition", "<i4"),
]
HEADER = np.dtype(_HEADER_FIELDS)
CHANNEL = np.dtype([(name, "<u4") for name in ("bucket", "buckets", "partition", "partitions")])
BARRIER_END = np.dtype([("side", "<u4"), ("partition", "<u4"), ("end", "<i8")])

_FIXED = {
    Kind.STRING: "<u4",
    Kind.JSON: "<u4",
    Kind.BOOLEAN: "u1",
    Kind.INT: "<i4",
    Kind.LONG: "<i8",
    Kind.FLOAT: "<f4",
    Kind.DOUBLE: "<f8",
    Kind.DECIMAL: "V16",
    Kind.DATE: "<i4",
    Kind.TIMESTAMP: "<i8",
}
TEXT = frozenset({Kind.STRING, Kind.JSON})

_ARROW = {
    Kind.STRING: pa.string(),
    Kind.JSON: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
}


def arrow_type(column: ColumnType) -> pa.DataType:
    """Returns the Arrow type of a column; ``json`` is text."""
    return pa.decimal128(column.precision, column.scale) if column.kind is Kind.DECIMAL else _ARROW[column.kind]


class RowLayout:
    """The layout of one source's row records."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        fixed = [(field(i), _FIXED[column.type.kind]) for i, column in enumerate(self.columns)]
        self.head = np.dtype([*_HEADER_FIELDS, ("nulls", "u1", ((len(self.columns) + 7) // 8,)), *fixed])
        """Header, nulls and fixed entries: all that precedes the texts."""
        self.texts = tuple(i for i, column in enumerate(self.columns) if column.type.kind in TEXT)
        stored = [(column.name, arrow_type(column.type)) for column in self.columns]
        self.arrow = pa.schema([("_id", pa.int64()), ("_ts", pa.int64()), *stored])
        """The schema of ``Changes.rows``."""
        self.empty = pa.RecordBatch.from_pylist([], self.arrow)


def field(column: int) -> str:
    """Returns the name of a column's fixed entry in :attr:`RowLayout.head`."""
    return f"c{column}"


@dataclass(frozen=True)
class ChangelogSchema:
    """The columns and the join of one generation; reader and writer of its changelog must agree on them."""

    left: tuple[Column, ...]
    right: tuple[Column, ...]
    join: JoinType

    @cached_property
    def layouts(self) -> tuple[RowLayout, RowLayout]:
        return RowLayout(self.left), RowLayout(self.right)

    @property
    def chosen(self) -> Side | None:
        """The side of which the join chooses one row among the matches of a row; None if it keeps every match."""
        return {JoinType.NATURAL: Side.RIGHT, JoinType.ASOF: Side.LEFT}.get(self.join)

    def match_mode(self, header: Side) -> MatchMode:
        """Returns how rows of that side list their matches: with timestamps if the join chooses among these."""
        return MatchMode.IDS if self.chosen in (None, header) else MatchMode.IDS_WITH_TIMES
