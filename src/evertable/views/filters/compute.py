"""Computes masks over Arrow columns: true, false or null for each row, as in SQL's three-valued logic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from evertable.changelog.schema import arrow_type
from evertable.schema.columns import ColumnType, Kind
from evertable.views.columns import ColumnReader, casefold
from evertable.views.filters.literals import FittedLiteral
from evertable.views.filters.tree import Operator, TextOperator

ArrowMask: TypeAlias = pa.BooleanArray

_COMPARE: dict[Operator, Callable[..., pa.ChunkedArray]] = {
    Operator.EQUAL: pc.equal,
    Operator.UNEQUAL: pc.not_equal,
    Operator.LESS: pc.less,
    Operator.AT_MOST: pc.less_equal,
    Operator.GREATER: pc.greater,
    Operator.AT_LEAST: pc.greater_equal,
}
_FLOATS = frozenset({Kind.FLOAT, Kind.DOUBLE})
_NUMBERS = _FLOATS | {Kind.INT, Kind.LONG, Kind.DECIMAL}
_WIDEST = 76  # digits of a 256-bit decimal: any two decimal columns fit


def compare(values: pa.ChunkedArray, operator: Operator, literal: FittedLiteral) -> ArrowMask:
    """Compares the values with a literal."""
    above = operator in (Operator.UNEQUAL, Operator.GREATER, Operator.AT_LEAST)
    if literal.floor is None:
        return same(values, above)
    if not literal.exact:  # the literal lies between its floor and the next value
        if operator in (Operator.EQUAL, Operator.UNEQUAL):
            return same(values, operator is Operator.UNEQUAL)
        operator = Operator.GREATER if above else Operator.AT_MOST
    return flat(_COMPARE[operator](values, literal.floor))


def compare_columns(
    left: pa.ChunkedArray, operator: Operator, right: pa.ChunkedArray, as_type: pa.DataType
) -> ArrowMask:
    """Compares two columns, both cast to one type."""
    return flat(_COMPARE[operator](_cast(left, as_type), _cast(right, as_type)))


def common_type(left: ColumnType, right: ColumnType) -> pa.DataType | None:
    """Returns the type to which both columns are cast for a comparison; None if they do not compare."""
    kinds = {left.kind, right.kind}
    if not kinds <= _NUMBERS:
        return arrow_type(left) if len(kinds) == 1 and left.kind is not Kind.JSON else None
    if kinds & _FLOATS:
        return pa.float64()
    if Kind.DECIMAL in kinds:
        return pa.decimal256(_WIDEST, max(left.scale, right.scale))
    return pa.int64()


def is_in(values: pa.ChunkedArray, literals: Sequence[FittedLiteral]) -> ArrowMask:
    """Whether the values are among the literals; null for null."""
    among = pa.array([literal.floor for literal in literals if literal.exact], values.type)
    if pa.types.is_floating(values.type):  # is_in takes 0.0 and -0.0 for different values
        zero = pa.scalar(0.0, values.type)
        values, among = pc.add(values, zero), pc.add(among, zero)
    return known(values, pc.is_in(values, value_set=among))


def search(columns: ColumnReader, index: int, operator: TextOperator, part: str) -> ArrowMask:
    """Whether texts contain, begin or end with a case-folded part, in any case; takes linear time for any part."""
    match operator:
        case TextOperator.CONTAINS:
            return flat(pc.match_substring(columns.folded(index), part))
        case TextOperator.STARTS_WITH:
            ends = pc.utf8_slice_codeunits(columns.column(index), 0, len(part))
        case TextOperator.ENDS_WITH if part:
            ends = pc.utf8_slice_codeunits(columns.column(index), -len(part))
        case TextOperator.ENDS_WITH:
            return same(columns.column(index), True)
    return flat(pc.equal(casefold(ends), part))


def same(values: pa.ChunkedArray, truth: bool) -> ArrowMask:
    """Returns the same truth for all values, null for null."""
    return known(values, pa.scalar(truth))


def known(values: pa.ChunkedArray, mask: pa.ChunkedArray | pa.Scalar) -> ArrowMask:
    """Returns the mask with null where the values are null."""
    return flat(pc.if_else(pc.is_valid(values), mask, pa.scalar(None, pa.bool_())))


def flat(mask: pa.ChunkedArray) -> ArrowMask:
    """Returns the mask as one array: the chunks of columns differ, and booleans are small."""
    return mask.combine_chunks()


def _cast(values: pa.ChunkedArray, as_type: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_decimal(values.type) and pa.types.is_floating(as_type):
        values = values.cast(pa.string())  # Arrow's cast from decimal to double may be off by a digit
    return values if values.type == as_type else pc.cast(values, as_type, safe=False)
