"""Encodes rows of a table as JSON values, column by column: the table "Values" of docs/PROTOCOL.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evertable.protocol.page import Row
from evertable.schema.columns import Column, Kind
from evertable.views.view import MAX_INTEGER

MAX_TEXT = 8_192  # characters of a cell

_YEAR_0 = np.datetime64("0000-01-01")
_YEAR_10000 = np.datetime64("10000-01-01")
_PLAIN_SCALE = 6  # with more digits Arrow writes small numbers as 1E-7


def rows_of(batch: pa.RecordBatch, columns: Sequence[Column]) -> list[Row]:
    """Returns the rows of a batch with these columns, with their values as JSON has them."""
    if not columns:
        return [()] * batch.num_rows
    values = (_JSON[column.type.kind](array) for column, array in zip(columns, batch.columns, strict=True))
    return list(zip(*values, strict=True))


def _texts(array: pa.Array) -> list[Any]:
    """Returns texts, long ones cut: pages are for people, who do not read megabytes."""
    values = array.to_pylist()
    if max(map(len, filter(None, values)), default=0) > MAX_TEXT:
        values = [text if text is None or len(text) <= MAX_TEXT else _cut(text) for text in values]
    return values  # type: ignore[no-any-return]


def _cut(text: str) -> str:
    return f"{text[:MAX_TEXT]}… ({len(text)} characters)"


def _as_is(array: pa.Array) -> list[Any]:
    return array.to_pylist()  # type: ignore[no-any-return]


def _longs(array: pa.Array) -> list[Any]:
    values = array.to_pylist()
    numbers = _without_nulls(array, pa.int64())
    for i in np.flatnonzero((numbers > MAX_INTEGER) | (numbers < -MAX_INTEGER)).tolist():
        values[i] = str(values[i])
    return values  # type: ignore[no-any-return]


def _floats(array: pa.Array) -> list[Any]:
    """Returns doubles with the fewest digits: 1.1 for the float 1.10000002384…"""
    return array.cast(pa.string()).cast(pa.float64()).to_pylist()  # type: ignore[no-any-return]


def _decimals(array: pa.Array) -> list[Any]:
    if array.type.scale <= _PLAIN_SCALE:
        return array.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]
    return [None if value is None else f"{value:f}" for value in array.to_pylist()]


def _dates(array: pa.Array) -> list[Any]:
    values = array.cast(pa.string()).to_pylist()
    for i, text in _outside_calendar(_without_nulls(array, pa.int32()).astype("M8[D]"), "D"):
        values[i] = text
    return values  # type: ignore[no-any-return]


def _timestamps(array: pa.Array) -> list[Any]:
    spaced = array.view(pa.timestamp("us")).cast(pa.string()).to_pylist()  # with the zone it takes 30 times as long
    values = [None if text is None else f"{text[:-16]}T{text[-15:]}Z" for text in spaced]
    for i, text in _outside_calendar(_without_nulls(array, pa.int64()).view("M8[us]"), "us"):
        values[i] = f"{text}Z"
    return values


def _outside_calendar(times: npt.NDArray[np.datetime64], unit: Literal["D", "us"]) -> list[tuple[int, str]]:
    """Returns the indexes of times outside of the years 0 to 9999, and their texts with a signed six-digit year.

    Only Kafka's own timestamps can have such years; JavaScript parses this form.
    """
    places = np.flatnonzero((times < _YEAR_0) | (times >= _YEAR_10000))
    texts = np.datetime_as_string(times[places], unit=unit) if len(places) else ()
    return [(int(i), _long_year(str(text))) for i, text in zip(places, texts, strict=True)]


def _long_year(text: str) -> str:
    year, rest = text[0] + text[1:].partition("-")[0], text[1:].partition("-")[2]
    return f"{int(year):+07d}-{rest}"


def _without_nulls(array: pa.Array, plain: pa.DataType) -> npt.NDArray[Any]:
    """Returns the stored numbers, with 0 for nulls."""
    numbers = array.view(plain)
    return (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy()  # type: ignore[no-any-return]


_JSON: Mapping[Kind, Callable[[pa.Array], list[Any]]] = {
    Kind.STRING: _texts,
    Kind.BOOLEAN: _as_is,
    Kind.INT: _as_is,
    Kind.LONG: _longs,
    Kind.FLOAT: _floats,
    Kind.DOUBLE: _as_is,
    Kind.DECIMAL: _decimals,
    Kind.DATE: _dates,
    Kind.TIMESTAMP: _timestamps,
    Kind.JSON: _texts,
}
