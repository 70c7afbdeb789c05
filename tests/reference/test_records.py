"""Records are parsed as docs/CHANGELOG-FORMAT.md describes, case by case."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.reference.records import Reject, SourceRecord, meaning

from evertable.schema.columns import Column, ColumnType, RecordField

USERS = (Column("userId", ColumnType.parse("string")), Column("age", ColumnType.parse("long")))


def of(value: bytes | None, columns: tuple[Column, ...] = USERS, **more: Any) -> tuple[Any, ...] | Reject:
    return meaning(SourceRecord(**{"partition": 0, "offset": 0, "timestamp": 0, **more}, value=value), columns)


def column(type_: str, spelled: str) -> Any:
    """Returns the value of a JSON text in a column of that type, or the condition of its reject."""
    found = of(b'{"it": ' + spelled.encode() + b"}", (Column("it", ColumnType.parse(type_)),))
    return found.condition if isinstance(found, Reject) else found[0]


def test_fields_fill_columns() -> None:
    """Missing ones are null, unknown ones are ignored, and the last of duplicates counts."""
    assert of(b'{"userId": "u", "age": 42}') == ("u", 42)
    assert of(b' \t\r\n{ "age":42 ,"userId"\n:"u" } ') == ("u", 42)
    assert of(b"{}") == (None, None)
    assert of(b'{"userId": null, "more": [1, {"age": 7}]}') == (None, None)
    assert of(b'{"age": "no", "userId": "u", "age": 1, "age": 2}') == ("u", 2)
    assert of(b'{"age": 1, "age": null}') == (None, None)
    assert of('{"\\u0061ge": 5, "userId": "\\u00fc\\n\\ud83d\\ude00\u00fc"}'.encode()) == ("ü\n😀ü", 5)


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        (None, "TOMBSTONE"),
        (b'{"userId": "\xff"}', "INVALID_UTF8"),
        (b'{"other": "\xed\xa0\x80"}', "INVALID_UTF8"),
        (b'{"other": "\xc0\x80"}', "INVALID_UTF8"),
        (b"\xff not even json", "INVALID_UTF8"),
        (b"", "NOT_AN_OBJECT"),
        (b" \n", "NOT_AN_OBJECT"),
        (b"[]", "NOT_AN_OBJECT"),
        (b"null", "NOT_AN_OBJECT"),
        (b'"text"', "NOT_AN_OBJECT"),
        (b"-1.5e3", "NOT_AN_OBJECT"),
        (b"[1, 2", "INVALID_JSON"),
        (b'\xef\xbb\xbf{"userId": "u"}', "INVALID_JSON"),
        (b"\xef\xbb\xbf", "INVALID_JSON"),
        (b"nul", "INVALID_JSON"),
        (b"{", "INVALID_JSON"),
        (b'{"userId"}', "INVALID_JSON"),
        (b'{"userId": }', "INVALID_JSON"),
        (b'{"userId": "u",}', "INVALID_JSON"),
        (b'{"userId": "u" "age": 1}', "INVALID_JSON"),
        (b'{userId: "u"}', "INVALID_JSON"),
        (b"{'userId': 'u'}", "INVALID_JSON"),
        (b'{"userId": "u]', "INVALID_JSON"),
        (b'{"other": [1, 2}}', "INVALID_JSON"),
        (b'{"other": "\\x"}', "INVALID_JSON"),
        (b'{"other": "\\u12g4"}', "INVALID_JSON"),
        (b'{"other": "a\nb"}', "INVALID_JSON"),
        (b'{"\\udc00": 1}', "INVALID_JSON"),
        (b'{"other": {"\\ud800": 1}}', "INVALID_JSON"),
        (b'{"other": 01}', "INVALID_JSON"),
        (b'{"other": +1}', "INVALID_JSON"),
        (b'{"other": .5}', "INVALID_JSON"),
        (b'{"other": 1.}', "INVALID_JSON"),
        (b'{"other": 1e}', "INVALID_JSON"),
        (b'{"other": NaN}', "INVALID_JSON"),
        (b'{"other": -Infinity}', "INVALID_JSON"),
        (b'{"other": tRue}', "INVALID_JSON"),
        (b'{"other": 1 /* one */}', "INVALID_JSON"),
        ('{"userId": "u"}'.encode("utf-16-le"), "INVALID_JSON"),
        ('{"userId":\u00a0"u"}'.encode(), "INVALID_JSON"),
        (b'{"userId": "u"} x', "TRAILING_TEXT"),
        (b'{"userId": "u"}{"userId": "u"}', "TRAILING_TEXT"),
        (b'{"userId": "u"}\x00', "TRAILING_TEXT"),
        (b'{"age": "no"} x', "TRAILING_TEXT"),
        (b'{"other": ' + b"[" * 1000 + b"]" * 1000 + b"}", "TOO_DEEP"),
        (b"[" * 100_000, "TOO_DEEP"),
        (b'{"userId": 42}', "WRONG_TYPE"),
    ],
)
def test_a_record_that_is_rejected(value: bytes | None, condition: str) -> None:
    """Errors of the whole value precede those of columns."""
    found = of(value)
    assert isinstance(found, Reject)
    assert found.condition == condition


def test_a_thousand_levels_are_not_too_deep() -> None:
    """The object itself counts as one level."""
    assert of(b'{"other": ' + b"[" * 999 + b"]" * 999 + b', "age": 1}') == (None, 1)


def test_the_first_bad_column_is_named() -> None:
    """The first is by configured order, not by that of the record."""
    assert of(b'{"age": "no", "userId": 1}') == Reject("WRONG_TYPE", "userId")
    assert of(b'{"userId": "u", "age": 9223372036854775808}') == Reject("OUT_OF_RANGE", "age")


def test_a_large_value_is_a_value() -> None:
    """A value may have a megabyte."""
    assert of(b'{"userId": "' + b"x" * 1_000_000 + b'"}') == ("x" * 1_000_000, None)


def test_an_unpaired_surrogate_matters_only_in_a_column() -> None:
    """It cannot be encoded as UTF-8, which fields without a column need not be; in names it is invalid JSON."""
    assert of(b'{"other": "\\ud800"}') == (None, None)
    assert of(b'{"userId": "\\udc00\\ud800"}') == Reject("INVALID_UTF8", "userId")
    assert of(b'{"userId": "\\ud800", "userId": "u"}') == ("u", None)


def test_columns_may_be_filled_from_the_record() -> None:
    """A field of the same name is ignored; a key must be UTF-8."""
    columns = tuple(
        Column(name, ColumnType.parse(type_), RecordField(f"kafka.{name}"))
        for name, type_ in {"timestamp": "timestamp", "partition": "int", "offset": "long", "key": "string"}.items()
    )
    at = datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC)
    record = {"partition": 3, "offset": 9, "timestamp": 1_700_000_000_123}
    assert of(b'{"key": 5, "offset": 1}', columns, **record, key=b"k") == (at, 3, 9, "k")
    assert of(b"{}", columns, **record) == (at, 3, 9, None)
    assert of(b"{}", columns, **record, key=b"\xff") == Reject("INVALID_UTF8", "key")
    assert of(b"{}", columns, **{**record, "timestamp": 2**50}) == Reject("OUT_OF_RANGE", "timestamp")


def test_a_record_without_a_row_id_is_a_reject() -> None:
    """This holds for every value."""
    assert of(None, offset=2**44) == of(b"{}", partition=2**19) == Reject("ID_OUT_OF_RANGE")


@pytest.mark.parametrize("timestamp", [1_700_000_000_000_000_000, 9_223_372_036_854_775, -9_223_372_036_854_775])
def test_a_timestamp_out_of_range_is_a_reject(timestamp: int) -> None:
    """A producer may have used nanoseconds."""
    assert of(b"{}", timestamp=timestamp) == Reject("TIMESTAMP_OUT_OF_RANGE")
    assert of(b"{}", timestamp=9_223_372_036_854_774) == (None, None)


@pytest.mark.parametrize(
    "type_", ["string", "boolean", "int", "long", "float", "double", "decimal(9,2)", "date", "timestamp"]
)
@pytest.mark.parametrize("spelled", ["{}", "[]", '{"a": 1}', "[1]"])
def test_only_json_columns_accept_objects_and_arrays(type_: str, spelled: str) -> None:
    """Other columns reject them as WRONG_TYPE."""
    assert column(type_, spelled) == "WRONG_TYPE"


@pytest.mark.parametrize(
    ("type_", "spelled", "value"),
    [
        ("string", '""', ""),
        ("string", "42", "WRONG_TYPE"),
        ("string", "true", "WRONG_TYPE"),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("boolean", '"true"', "WRONG_TYPE"),
        ("boolean", "1", "WRONG_TYPE"),
        ("int", "-2147483648", -(2**31)),
        ("int", "2147483648", "OUT_OF_RANGE"),
        ("int", "-0", 0),
        ("long", "9223372036854775807", 2**63 - 1),
        ("long", "-9223372036854775808", -(2**63)),
        ("long", "9223372036854775808", "OUT_OF_RANGE"),
        ("long", "1" + "0" * 10_000, "OUT_OF_RANGE"),
        ("long", '"42"', "WRONG_TYPE"),
        ("long", "1.5", "WRONG_TYPE"),
        ("long", "1.0", "WRONG_TYPE"),
        ("long", "1e3", "WRONG_TYPE"),
        ("long", "true", "WRONG_TYPE"),
        ("double", "42", 42.0),
        ("double", "-1.5e-3", -0.0015),
        ("double", "1e400", "OUT_OF_RANGE"),
        ("double", "-1e400", "OUT_OF_RANGE"),
        ("double", "1e-400", 0.0),
        ("double", "1" + "0" * 400, "OUT_OF_RANGE"),
        ("double", '"42"', "WRONG_TYPE"),
        ("float", "0.1", 0.10000000149011612),
        ("float", "16777217", 16777216.0),
        ("float", "3.4028235e38", 3.4028234663852886e38),
        ("float", "3.4028236e38", "OUT_OF_RANGE"),
        ("float", "340282356779733661637539395458142568448", "OUT_OF_RANGE"),
        ("float", "340282356779733661637539395458142568447", 3.4028234663852886e38),
        ("float", "1.00000005960464477539062500000000001", 1.00000011920928955078125),  # by way of a double: 1.0
        ("float", "1e39", "OUT_OF_RANGE"),
        ("float", "1e-46", 0.0),
        ("decimal(5,2)", "999.99", Decimal("999.99")),
        ("decimal(5,2)", "-999.99", Decimal("-999.99")),
        ("decimal(5,2)", '"1.5"', Decimal("1.50")),
        ("decimal(5,2)", "1.500000", Decimal("1.5")),
        ("decimal(5,2)", "15e1", Decimal("150")),
        ("decimal(5,2)", "1500e-3", Decimal("1.5")),
        ("decimal(5,2)", "-0", Decimal(0)),
        ("decimal(5,2)", "0e999999999999", Decimal(0)),
        ("decimal(5,2)", "1.005", "OUT_OF_RANGE"),
        ("decimal(5,2)", "1000", "OUT_OF_RANGE"),
        ("decimal(5,2)", "1e999999999999", "OUT_OF_RANGE"),
        ("decimal(5,2)", "1e-999999999999", "OUT_OF_RANGE"),
        ("decimal(5,2)", '"+1"', "BAD_FORMAT"),
        ("decimal(5,2)", '" 1"', "BAD_FORMAT"),
        ("decimal(5,2)", '"01"', "BAD_FORMAT"),
        ("decimal(5,2)", '".5"', "BAD_FORMAT"),
        ("decimal(5,2)", '""', "BAD_FORMAT"),
        ("decimal(5,2)", '"one"', "BAD_FORMAT"),
        ("decimal(5,2)", '"١"', "BAD_FORMAT"),
        ("decimal(5,2)", "1." + "0" * 998, Decimal(1)),
        ("decimal(5,2)", "1." + "0" * 999, "BAD_FORMAT"),
        ("decimal(5,2)", "true", "WRONG_TYPE"),
        ("decimal(38,0)", "9" * 38, Decimal("9" * 38)),
        ("decimal(38,38)", "0." + "9" * 38, Decimal("0." + "9" * 38)),
        ("date", '"2024-02-29"', date(2024, 2, 29)),
        ("date", '"0001-01-01"', date(1, 1, 1)),
        ("date", '"9999-12-31"', date(9999, 12, 31)),
        ("date", '"2023-02-29"', "BAD_FORMAT"),
        ("date", '"0000-01-01"', "BAD_FORMAT"),
        ("date", '"10000-01-01"', "BAD_FORMAT"),
        ("date", '"2024-1-1"', "BAD_FORMAT"),
        ("date", '"2024-01-01 "', "BAD_FORMAT"),
        ("date", '"2024-01-01T00:00:00Z"', "BAD_FORMAT"),
        ("date", '"٢٠٢٤-01-01"', "BAD_FORMAT"),
        ("date", "19000", "WRONG_TYPE"),
        ("timestamp", '"2024-02-29T12:30Z"', datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
        ("timestamp", '"2024-02-29T12:30:15Z"', datetime(2024, 2, 29, 12, 30, 15, tzinfo=UTC)),
        ("timestamp", '"2024-02-29T12:30:15.5+02:00"', datetime(2024, 2, 29, 10, 30, 15, 500000, tzinfo=UTC)),
        ("timestamp", '"2024-02-29T12:30:15.123456000-00:30"', datetime(2024, 2, 29, 13, 0, 15, 123456, tzinfo=UTC)),
        ("timestamp", '"2024-02-29T12:30:15.1234567Z"', "OUT_OF_RANGE"),
        ("timestamp", '"2024-02-29T12:30:15.1234567890Z"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29T12:30:15.Z"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29T12:30:15"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29 12:30:15Z"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29t12:30:15z"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29T24:00:00Z"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29T23:59:60Z"', "BAD_FORMAT"),
        ("timestamp", '"2023-02-29T12:30:15Z"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29T12:30:15+0200"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29T12:30:15+24:00"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29T12:30:15+02:60"', "BAD_FORMAT"),
        ("timestamp", '"2024-02-29"', "BAD_FORMAT"),
        ("timestamp", '"0001-01-01T00:00:00Z"', datetime(1, 1, 1, tzinfo=UTC)),
        ("timestamp", '"0001-01-01T00:00:00+00:01"', "OUT_OF_RANGE"),
        ("timestamp", '"0000-12-31T23:30:00-01:00"', datetime(1, 1, 1, 0, 30, tzinfo=UTC)),
        ("timestamp", '"9999-12-31T23:59:59.999999Z"', datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        ("timestamp", '"9999-12-31T23:59:59-00:01"', "OUT_OF_RANGE"),
        ("timestamp", "0", datetime(1970, 1, 1, tzinfo=UTC)),
        ("timestamp", "-1", datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
        ("timestamp", "253402300799999", datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
        ("timestamp", "253402300800000", "OUT_OF_RANGE"),
        ("timestamp", "-62135596800000", datetime(1, 1, 1, tzinfo=UTC)),
        ("timestamp", "-62135596800001", "OUT_OF_RANGE"),
        ("timestamp", "9" * 30, "OUT_OF_RANGE"),
        ("timestamp", "1.5", "WRONG_TYPE"),
        ("timestamp", "true", "WRONG_TYPE"),
        ("json", '{"b" : [1.50, 1E+2, -0, true], "a":"x", "b":{}}', '{"b":[1.50,1E+2,-0,true],"a":"x","b":{}}'),
        ("json", '"\\u0041\\/\\u00e9\\ud83d\\ude00\\u007f"', '"A/é😀\x7f"'),
        ("json", '"\\b\\t\\n\\f\\r\\u0000\\u001F\\"\\\\"', '"\\b\\t\\n\\f\\r\\u0000\\u001f\\"\\\\"'),
        ("json", '{"a\\nb": 1}', '{"a\\nb":1}'),
        ("json", "[null]", "[null]"),
        ("json", "0", "0"),
        ("json", '{"a": "\\ud800"}', "INVALID_UTF8"),
        ("json", '{"\\ud800": 1}', "INVALID_JSON"),
    ],
)  # fmt: skip
def test_a_value_in_a_column(type_: str, spelled: str, value: Any) -> None:
    """The result is exactly the value as spelled, or the condition of a reject."""
    found = column(type_, spelled)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("type_", ["string", "boolean", "int", "float", "decimal(9,2)", "date", "timestamp", "json"])
def test_null_is_null_in_every_type(type_: str) -> None:
    """It is the same as a missing field."""
    assert column(type_, "null") is None
