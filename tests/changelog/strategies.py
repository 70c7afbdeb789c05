"""Hypothesis strategies for changelog schemas, values and records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from tests.changelog.encoder import Encoder, Match, SourceRef, row_id

from evertable.changelog.ids import MAX_OFFSET, MAX_PARTITION
from evertable.changelog.schema import MAX_RAW, ChangelogSchema, Side, SourcePartition
from evertable.schema.columns import Column, ColumnType, Kind
from evertable.schema.joins import JoinType

timestamps = st.integers(-(2**62), 2**62)
ids = st.builds(row_id, st.integers(0, MAX_PARTITION), st.integers(0, MAX_OFFSET))
texts = st.text(st.characters(codec="utf-8"), max_size=12)


def column_types() -> st.SearchStrategy[ColumnType]:
    plain = st.sampled_from([ColumnType(kind) for kind in Kind if kind is not Kind.DECIMAL])
    decimals = st.integers(1, 38).flatmap(
        lambda p: st.integers(0, p).map(lambda s: ColumnType(Kind.DECIMAL, precision=p, scale=s))
    )
    return plain | decimals


def columns() -> st.SearchStrategy[tuple[Column, ...]]:
    """Up to 19 columns, which have more than two bytes of nulls."""
    types = st.lists(column_types(), min_size=1, max_size=5) | st.lists(column_types(), min_size=8, max_size=19)
    return types.map(lambda drawn: tuple(Column(f"column{i}", type_) for i, type_ in enumerate(drawn)))


def schemas() -> st.SearchStrategy[ChangelogSchema]:
    return st.builds(ChangelogSchema, columns(), columns(), st.sampled_from(JoinType))


def values(column: ColumnType) -> st.SearchStrategy[Any]:
    """Values of a column of this type, with null, as Arrow converts them to Python."""
    match column.kind:
        case Kind.DECIMAL:
            limit = 10**column.precision - 1
            some: st.SearchStrategy[Any] = st.integers(-limit, limit).map(
                lambda unscaled: Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -column.scale))
            )
        case Kind.TIMESTAMP:
            some = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))
        case kind:
            some = _PLAIN[kind]
    return st.none() | some


_PLAIN: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.STRING: texts,
    Kind.JSON: texts,
    Kind.BOOLEAN: st.booleans(),
    Kind.INT: st.integers(-(2**31), 2**31 - 1),
    Kind.LONG: st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT: st.floats(width=32, allow_nan=False, allow_infinity=False),
    Kind.DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
    Kind.DATE: st.dates(date(1, 1, 1), date(9999, 12, 31)),
}


@dataclass(frozen=True)
class Row:
    of: SourceRef
    values: list[Any]
    matches: list[Match]

    def encode(self, encoder: Encoder) -> bytes:
        return encoder.row(self.of, self.values, self.matches)


@dataclass(frozen=True)
class Matches:
    of: SourceRef
    matches: list[Match]

    def encode(self, encoder: Encoder) -> bytes:
        return encoder.matches(self.of, self.matches)


@dataclass(frozen=True)
class Reject:
    of: SourceRef
    reason: str
    raw: bytes | None

    def encode(self, encoder: Encoder) -> bytes:
        return encoder.reject(self.of, self.reason, self.raw)


@dataclass(frozen=True)
class Ends:
    """A barrier's ends, and its channel."""

    ends: dict[SourcePartition, int]
    channel: int

    def encode(self, encoder: Encoder) -> bytes:
        return encoder.barrier(self.ends, self.channel, CHANNELS)


CHANNELS = 4
Record = Row | Matches | Reject | Ends


def records(schema: ChangelogSchema) -> st.SearchStrategy[Record]:
    """Records of a changelog with this schema."""
    of = st.builds(
        SourceRef, st.sampled_from(Side), st.integers(0, MAX_PARTITION), st.integers(0, MAX_OFFSET), timestamps
    )
    matches = st.lists(st.builds(Match, ids, timestamps), max_size=3)

    def row(of: SourceRef) -> st.SearchStrategy[Row]:
        columns = schema.layouts[of.side].columns
        drawn = st.tuples(*(values(column.type) for column in columns)).map(list)
        return st.builds(Row, st.just(of), drawn, matches)

    raw = st.none() | st.binary(max_size=20) | st.just(b"x" * MAX_RAW)
    places = st.tuples(st.sampled_from(Side), st.integers(0, MAX_PARTITION))
    ends = st.dictionaries(places, st.integers(0, MAX_OFFSET), max_size=3)
    barrier = st.builds(Ends, ends, st.integers(0, CHANNELS - 1))
    return of.flatmap(row) | st.builds(Matches, of, matches) | st.builds(Reject, of, texts, raw) | barrier


@st.composite
def schemas_and_records(draw: st.DrawFn) -> tuple[ChangelogSchema, list[Record]]:
    schema = draw(schemas())
    return schema, draw(st.lists(records(schema), max_size=8))
