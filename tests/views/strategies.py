"""Hypothesis strategies for tables of typed rows and for filters that fit them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st
from tests.changelog.strategies import texts, values
from tests.views import printing

from evertable.schema.columns import Column, ColumnType, Kind
from evertable.views.filters.lexer import Token
from evertable.views.filters.tree import (
    And,
    Comparison,
    Expression,
    In,
    IsNull,
    Not,
    Operator,
    Or,
    Predicate,
    TextOperator,
    TextSearch,
)

TYPES = {
    "name": "string",
    "last name": "string",
    "notes": "json",
    "active": "boolean",
    "age": "int",
    "visits": "long",
    "score": "float",
    "balance": "double",
    "limit": "decimal(10,2)",
    "-fine": "decimal(38,20)",
    "in": "date",
    "seen.at": "timestamp",
    "-": "long",
}
COLUMNS = tuple(Column(name, ColumnType.parse(spelled)) for name, spelled in TYPES.items())

NUMBERS = frozenset({Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL})
ODD_NUMBERS = [Decimal(text) for text in "0 -0 0.5 1e30 -1e30 1e400 -1e400 1e-400 0.1 9223372036854775807.5".split()]
ODD_NUMBERS += [Decimal(2**63 + i) for i in (-1, 0, 1)] + [Decimal(-(2**63) + i) for i in (-1, 0, 1)]

# A few values that are drawn often, so that rows tie and are equal to literals.
COMMON: dict[Kind, list[Any]] = {
    Kind.STRING: ["", "a", "A", "a\0", "ab", "aaaaaaaab", "aaaaaaaaB", "aaaaaaaa", "Äß", "ſKσς\n", "😀", "\uffff"],
    Kind.JSON: ["{}", '{"a": 1}', "[]"],
    Kind.BOOLEAN: [True, False],
    Kind.INT: [0, 1, -1, 2**31 - 1, -(2**31)],
    Kind.LONG: [0, 1, -1, 2**63 - 1, -(2**63), 2**53, 2**53 + 1],
    Kind.FLOAT: [0.0, -0.0, 1.0, 0.10000000149011612],
    Kind.DOUBLE: [0.0, -0.0, 1.0, 0.1, 2.0**53],
    Kind.DECIMAL: [Decimal("0.00"), Decimal("1.00"), Decimal("-0.10"), Decimal("99999999.99")],
    Kind.DATE: [date(1970, 1, 1), date(1969, 12, 31), date(2026, 11, 15)],
    Kind.TIMESTAMP: [datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 11, 15, 20, 7, 28, 123456, tzinfo=UTC)],
}


@dataclass(frozen=True)
class Case:
    """A table's rows, and a view of them."""

    columns: tuple[Column, ...]
    rows: list[tuple[Any, ...]]
    sort: tuple[str, ...]
    where: Expression | None
    newest_first: bool
    first: int
    chunk: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    columns = tuple(draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4, unique=True)))
    size = draw(st.integers(0, 12))
    rows = [tuple(draw(cells(column)) for column in columns) for _ in range(size)]
    names = [column.name for column in columns]
    entries = [*names, *("-" + name for name in names if "-" + name not in names)]
    return Case(
        columns,
        rows,
        sort=tuple(draw(st.sampled_from(entries)) for _ in range(draw(st.integers(0, 3)))),
        where=draw(trees(columns)) if draw(st.booleans()) else None,
        newest_first=draw(st.booleans()),
        first=draw(st.sampled_from([0, 7])),
        chunk=draw(st.integers(1, 5)),
    )


@cache
def cells(column: Column) -> st.SearchStrategy[Any]:
    return st.none() | st.sampled_from(COMMON[column.type.kind]) | values(column.type)


@st.composite
def trees(draw: st.DrawFn, columns: tuple[Column, ...], depth: int = 3) -> Expression:
    """Filters that fit the columns."""
    shape = draw(st.sampled_from([Not, And, Or, None, None, None])) if depth else None
    if shape is None:
        return draw(predicates(draw(st.sampled_from(columns)), columns))
    if shape is Not:
        return Not(draw(trees(columns, depth - 1)))
    parts = tuple(draw(trees(columns, depth - 1)) for _ in range(draw(st.integers(2, 3))))
    return And(parts) if shape is And else Or(parts)


@st.composite
def predicates(draw: st.DrawFn, column: Column, columns: tuple[Column, ...]) -> Expression:
    name, kind = printing.name(column.name), column.type.kind
    shapes: list[type[Predicate]] = [IsNull]
    shapes += [TextSearch] if kind in (Kind.STRING, Kind.JSON) else []
    shapes += [Comparison, Comparison, In] if kind is not Kind.JSON else []
    shape = draw(st.sampled_from(shapes))
    if shape is IsNull:
        return IsNull(name)
    if shape is TextSearch:
        return TextSearch(name, draw(st.sampled_from(TextOperator)), printing.text(draw(PARTS)))
    some = literals(column.type)
    if shape is In:
        return In(name, tuple(draw(some) for _ in range(draw(st.integers(1, 3)))))
    others = [printing.name(other.name) for other in columns if comparable(kind, other.type.kind)]

    def operand() -> Token:
        return draw(some) if draw(st.booleans()) else draw(st.sampled_from(others))

    return Comparison(name, draw(st.sampled_from(Operator)), operand())


PARTS = (st.sampled_from(COMMON[Kind.STRING]) | texts).flatmap(
    lambda text: st.sampled_from([text, text.swapcase(), text[1:], text[:1].lower()])
)


@cache
def literals(column: ColumnType) -> st.SearchStrategy[Token]:
    """Literals that fit a column, most of them near its values."""
    some = st.sampled_from(COMMON[column.kind]) | values(column).filter(lambda value: value is not None)
    if column.kind in NUMBERS:
        near = st.builds(
            lambda value, by: Decimal(str(value)) + by, some, st.sampled_from([Decimal(0), Decimal("0.001")])
        )
        return st.builds(printing.number, near | st.sampled_from(ODD_NUMBERS))
    if column.kind is Kind.BOOLEAN:
        return st.builds(printing.truth, st.booleans())
    if column.kind is Kind.TIMESTAMP:
        zones = st.sampled_from([UTC, None, timezone(timedelta(hours=-3, minutes=-30))])
        return st.builds(lambda time, zone: printing.text(time.replace(tzinfo=zone).isoformat()), some, zones)
    return st.builds(lambda value: printing.text(value if isinstance(value, str) else value.isoformat()), some)


def comparable(one: Kind, other: Kind) -> bool:
    return one is other or {one, other} <= NUMBERS
