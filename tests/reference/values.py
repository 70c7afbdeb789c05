"""Converts JSON values to the values of columns, exactly or not at all."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from tests.reference.json_text import Token, compact, unquoted

from evertable.schema.columns import ColumnType, Kind

MAX_DECIMAL_LENGTH = 1000

_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    rf"{_DATE.pattern}T([0-9]{{2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:\.([0-9]{{1,9}}))?)?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_400 = timedelta(days=146_097)  # after which the calendar repeats


class FaultError(Exception):
    """Why a value does not fit its column; ``condition`` is that of the reject."""

    def __init__(self, condition: str) -> None:
        super().__init__(condition)
        self.condition = condition


def value_of(type_: ColumnType, tokens: list[Token]) -> Any:
    """Returns the column's value as Arrow converts it to Python; raises FaultError."""
    first = tokens[0]
    if first.text == "null":
        return None
    match type_.kind:
        case Kind.STRING:
            return _text(unquoted(_expect(first, first.kind == "string")))
        case Kind.BOOLEAN:
            return _expect(first, first.kind == "word").text == "true"
        case Kind.INT:
            return _integer(_expect(first, first.is_integer).text, 31)
        case Kind.LONG:
            return _integer(_expect(first, first.is_integer).text, 63)
        case Kind.FLOAT:
            return _float32(_expect(first, first.kind == "number").text)
        case Kind.DOUBLE:
            return _finite(float(_expect(first, first.kind == "number").text))
        case Kind.DECIMAL:
            _expect(first, first.kind in ("number", "string"))
            return _decimal(unquoted(first) if first.kind == "string" else first.text, type_)
        case Kind.DATE:
            return _date(unquoted(_expect(first, first.kind == "string")))
        case Kind.TIMESTAMP:
            _expect(first, first.is_integer or first.kind == "string")
            return _timestamp(unquoted(first)) if first.kind == "string" else _from_milliseconds(first.text)
        case Kind.JSON:
            return _text(compact(tokens))


def _expect(token: Token, fits: bool) -> Token:
    if not fits:
        raise FaultError("WRONG_TYPE")
    return token


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FaultError("INVALID_UTF8") from None
    return text


def _integer(spelled: str, bits: int) -> int:
    if len(spelled) > 20 or not -(2**bits) <= int(spelled) < 2**bits:
        raise FaultError("OUT_OF_RANGE")
    return int(spelled)


def _finite(number: float) -> float:
    if number in (float("inf"), float("-inf")):
        raise FaultError("OUT_OF_RANGE")
    return number


def _float32(spelled: str) -> float:
    """Returns the float nearest to a decimal text; converting to double first would round twice."""
    double = _finite(float(spelled))
    if double == 0:
        return double
    with np.errstate(over="ignore"):
        near = np.float32(double)
        around = [np.nextafter(near, np.float32(limit)) for limit in ("-inf", "inf")]
    exact = Fraction(Decimal(spelled))
    largest = Fraction(float(np.finfo(np.float32).max))
    beyond = largest + Fraction(2) ** 103  # the middle between the largest float and the next there would be
    if abs(exact) >= beyond:
        raise FaultError("OUT_OF_RANGE")
    candidates = [c for c in (near, *around) if np.isfinite(c)]
    best = min(candidates, key=lambda c: (abs(Fraction(float(c)) - exact), int(c.view(np.uint32)) & 1))
    return float(best)


def _decimal(spelled: str, type_: ColumnType) -> Decimal:
    match = _NUMBER.fullmatch(spelled)
    if match is None or len(spelled) > MAX_DECIMAL_LENGTH:
        raise FaultError("BAD_FORMAT")
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", int(match[4] or 0)
    digits = (whole + fraction).strip("0")
    if not digits:
        return Decimal(0).scaleb(-type_.scale)
    last = exponent - len(fraction) + len(whole + fraction) - len((whole + fraction).rstrip("0"))
    if last < -type_.scale or last + len(digits) > type_.precision - type_.scale:
        raise FaultError("OUT_OF_RANGE")
    return Decimal(f"{sign}{digits}").scaleb(last, Context(prec=2 * MAX_DECIMAL_LENGTH))


def _date(spelled: str) -> date:
    match = _DATE.fullmatch(spelled)
    if match is None:
        _bad_format()
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        _bad_format()


def _timestamp(spelled: str) -> datetime:
    match = _TIMESTAMP.fullmatch(spelled)
    if match is None:
        _bad_format()
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, sign, zone_hour, zone_minute = match.groups()[6:]
    if int(zone_hour or 0) > 23 or int(zone_minute or 0) > 59:
        _bad_format()
    zone = timedelta(hours=int(zone_hour or 0), minutes=int(zone_minute or 0)) * (-1 if sign == "-" else 1)
    nanoseconds = int((fraction or "").ljust(9, "0"))
    try:  # 400 years later or earlier, so that a zone may lead out of and back into the years there are
        shift = 400 if year < 5000 else -400
        local = datetime(year + shift, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        _bad_format()
    if nanoseconds % 1000:
        raise FaultError("OUT_OF_RANGE")
    moved = local - zone + timedelta(microseconds=nanoseconds // 1000)
    try:
        return moved - (shift // 400) * _YEAR_400
    except OverflowError:
        raise FaultError("OUT_OF_RANGE") from None


def _from_milliseconds(spelled: str) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=_integer(spelled, 63))
    except OverflowError:
        raise FaultError("OUT_OF_RANGE") from None


def _bad_format() -> NoReturn:
    raise FaultError("BAD_FORMAT")
