"""Values are encoded as JSON so that JavaScript loses nothing, and are decoded to the same."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.changelog.strategies import columns, values

from evertable.protocol.decoding import from_json, rows_from_json
from evertable.protocol.values import MAX_TEXT, rows_of
from evertable.schema.columns import Column, ColumnType
from evertable.tables.table import schema_of
from evertable.views.view import MAX_INTEGER


def batch(columns: tuple[Column, ...], rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    schema = schema_of(columns)
    arrays = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(schema.types)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def in_json(type_: str, value: Any) -> Any:
    """Returns a single value as it is encoded."""
    columns = (Column("c", ColumnType.parse(type_)),)
    ((written,),) = rows_of(batch(columns, [(value,)]), columns)
    return written


@pytest.mark.parametrize(
    ("type_", "value", "written"),
    [
        ("string", "é\x00\n😀", "é\x00\n😀"),
        ("json", '{"a": [1e2]}', '{"a": [1e2]}'),
        ("boolean", True, True),
        ("int", -(2**31), -(2**31)),
        ("long", MAX_INTEGER, MAX_INTEGER),
        ("long", -MAX_INTEGER, -MAX_INTEGER),
        ("long", MAX_INTEGER + 1, "9007199254740992"),
        ("long", -(2**63), "-9223372036854775808"),
        ("double", 0.1, 0.1),
        ("float", 1.1, 1.1),
        ("float", 3.4028234663852886e38, 3.4028235e38),
        ("float", 1.401298464324817e-45, 1e-45),
        ("float", 16777216.0, 16777216.0),
        ("decimal(5,2)", Decimal("-1.5"), "-1.50"),
        ("decimal(5,2)", Decimal(0), "0.00"),
        ("decimal(5,0)", Decimal(-17), "-17"),
        ("decimal(38,0)", Decimal("9" * 38), "9" * 38),
        ("decimal(38,10)", Decimal(0), "0.0000000000"),
        ("decimal(38,10)", Decimal("-1E-10"), "-0.0000000001"),
        ("decimal(38,38)", Decimal("-0." + "9" * 38), "-0." + "9" * 38),
        ("decimal(7,7)", Decimal("1E-7"), "0.0000001"),
        ("decimal(6,6)", Decimal("1E-6"), "0.000001"),
        ("date", date(1, 1, 1), "0001-01-01"),
        ("date", date(9999, 12, 31), "9999-12-31"),
        ("timestamp", datetime(2026, 11, 15, 20, 7, 28, tzinfo=UTC), "2026-11-15T20:07:28.000000Z"),
        ("timestamp", datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "1969-12-31T23:59:59.999999Z"),
        ("timestamp", datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        ("timestamp", datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "9999-12-31T23:59:59.999999Z"),
        ("timestamp", 253_402_300_800_000_000, "+010000-01-01T00:00:00.000000Z"),
        ("timestamp", -62_135_596_800_000_001, "0000-12-31T23:59:59.999999Z"),
        ("timestamp", -62_167_219_200_000_001, "-000001-12-31T23:59:59.999999Z"),
        ("timestamp", 2**63 - 1, "+294247-01-10T04:00:54.775807Z"),
        ("timestamp", -(2**63) + 1, "-290308-12-21T19:59:05.224193Z"),
    ],
)
def test_a_value_is_encoded_as(type_: str, value: Any, written: Any) -> None:
    assert in_json(type_, value) == written
    assert type(in_json(type_, value)) is type(written)
    assert in_json(type_, None) is None


@pytest.mark.parametrize("type_", ["string", "json"])
def test_long_texts_are_cut(type_: str) -> None:
    """Their length is shown in characters, which is also what the limit counts."""
    for whole in ("x" * MAX_TEXT, "€" * MAX_TEXT, "𝄞" * MAX_TEXT, ""):
        assert in_json(type_, whole) == whole
    assert in_json(type_, "é" * 1_000_000) == "é" * MAX_TEXT + "… (1000000 characters)"
    assert in_json(type_, None) is None


def test_dates_outside_of_the_calendar_are_encoded() -> None:
    columns = (Column("c", ColumnType.parse("date")),)
    days = pa.array([2_932_897, None, 0, -(2**31)], pa.int32()).view(pa.date32())
    rows = rows_of(pa.RecordBatch.from_arrays([days], schema=schema_of(columns)), columns)
    assert rows == [("+010000-01-01",), (None,), ("1970-01-01",), ("-5877641-06-23",)]


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[Column, ...], list[tuple[Any, ...]]]:
    drawn = draw(columns())
    return drawn, draw(st.lists(st.tuples(*(values(column.type) for column in drawn)), max_size=6))


@given(tables(), st.integers(0, 3))
def test_rows_are_decoded_to_the_same(table: tuple[tuple[Column, ...], list[tuple[Any, ...]]], start: int) -> None:
    """This holds for slices of batches, too; JavaScript can represent every number."""
    columns, rows = table
    part = batch(columns, rows).slice(start)
    text = orjson.dumps(rows_of(part, columns))
    back = rows_from_json(columns, json.loads(text, parse_int=safe_integer, parse_constant=reject_constant))
    for row, given_, column_values in zip(back, rows[start:], json.loads(text), strict=True):
        for value, expected, column, written in zip(row, given_, columns, column_values, strict=True):
            assert same(value, expected, column.type)
            assert from_json(column.type, written) == value
            if column.type.scale and written is not None:
                assert re.fullmatch(rf"-?\d+\.\d{{{column.type.scale}}}", written)


def safe_integer(digits: str) -> int:
    assert abs(int(digits)) <= MAX_INTEGER
    return int(digits)


def reject_constant(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


def same(value: Any, expected: Any, type_: ColumnType) -> bool:
    if type_.kind == "float" and value is not None:
        return bool(np.float32(value) == np.float32(expected))
    return value == expected and type(value) is type(expected)


def test_times_that_python_does_not_support_stay_text() -> None:
    assert (
        from_json(ColumnType.parse("timestamp"), "+010000-01-01T00:00:00.000000Z") == "+010000-01-01T00:00:00.000000Z"
    )
    assert from_json(ColumnType.parse("date"), "+010000-01-01") == "+010000-01-01"


def test_times_are_in_utc() -> None:
    time = from_json(ColumnType.parse("timestamp"), "2026-11-15T20:07:28.123456Z")
    assert (time, time.tzinfo) == (datetime(2026, 11, 15, 20, 7, 28, 123456, UTC), UTC)


def test_rows_without_columns_are_counted() -> None:
    none = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    assert rows_of(none, ()) == [(), (), ()]
    assert rows_from_json((), [[], []]) == [(), ()]
