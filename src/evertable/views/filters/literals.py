"""Fits literals to column types without rounding: numbers beyond or between a column's values compare correctly."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from evertable.changelog.schema import arrow_type
from evertable.errors import FilterError
from evertable.schema.columns import Column, ColumnType, Kind
from evertable.views.filters.lexer import Token, TokenKind

_INTEGERS = {Kind.INT: 2**31, Kind.LONG: 2**63}
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)  # rounds nothing

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    _DATE.pattern + r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


@dataclass(frozen=True)
class FittedLiteral:
    """The greatest value of a column type that is not above a literal, and whether they are equal."""

    floor: pa.Scalar | None
    """None if the literal is below all values."""
    exact: bool = True


def fit(literal: Token, column: Column) -> FittedLiteral:
    """Fits a literal to a column's type; raises FilterError if they cannot be compared."""
    kind = column.type.kind
    value: Any = None
    match literal.kind:
        case TokenKind.NUMBER:
            number = literal.value
            if kind in _INTEGERS:
                limit = _INTEGERS[kind]
                return _whole(number, -limit, limit - 1, lambda unscaled: unscaled, column.type)
            if kind is Kind.DECIMAL:
                limit, scale = 10**column.type.precision - 1, column.type.scale
                unscaled = number.scaleb(scale, _EXACT)
                return _whole(unscaled, -limit, limit, lambda n: Decimal(n).scaleb(-scale, _EXACT), column.type)
            if kind is Kind.DOUBLE:
                value = float(number)
            elif kind is Kind.FLOAT:
                with np.errstate(over="ignore"):  # infinity is above all values, which is correct
                    value = float(np.float32(float(number)))
        case TokenKind.TEXT:
            value = _from_text(literal.value, kind)
        case _ if kind is Kind.BOOLEAN:
            value = literal.value == "true"
    if value is None:
        wanted = _WANTED.get(kind, "a number")
        raise FilterError(f"'{column.name}' is {column.type}: expected {wanted}, found {literal}", literal.position)
    return FittedLiteral(pa.scalar(value, arrow_type(column.type)))


def _whole(number: Decimal, least: int, most: int, value: Callable[[int], Any], column: ColumnType) -> FittedLiteral:
    """Fits a number to the whole numbers from ``least`` to ``most``."""
    if number < least:
        return FittedLiteral(None, exact=False)
    if number > most:
        return FittedLiteral(pa.scalar(value(most), arrow_type(column)), exact=False)
    floor = number.to_integral_value(ROUND_FLOOR, _EXACT)
    return FittedLiteral(pa.scalar(value(int(floor)), arrow_type(column)), exact=floor == number)


def _from_text(text: str, kind: Kind) -> str | date | None:
    """Returns a text as a value of a text, date or timestamp column; None if it is none."""
    if kind is Kind.STRING:
        return text
    try:
        if kind is Kind.DATE and _DATE.fullmatch(text):
            return date.fromisoformat(text)
        if kind is Kind.TIMESTAMP and _TIMESTAMP.fullmatch(text):
            return datetime.fromisoformat(text)  # UTC, unless it has a zone
    except ValueError:  # a 30th of February
        pass
    return None


_WANTED = {
    Kind.STRING: "a text in single quotes",
    Kind.BOOLEAN: "true or false",
    Kind.DATE: "a date such as '2026-11-15'",
    Kind.TIMESTAMP: "a time such as '2026-11-15T20:07:28Z'",
    Kind.JSON: "contains, starts with, ends with or is null",
}
"""The literals of each type; all others are numbers."""
