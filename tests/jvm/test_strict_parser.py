"""The strict parser and the reference return the same row or the same kind of reject for any bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.jvm.conftest import Parse
from tests.reference.records import Reject, SourceRecord, meaning

from evertable.changelog.changes import Changes
from evertable.schema.columns import Column, ColumnType, RecordField

COLUMNS = (
    Column("s", ColumnType.parse("string")),
    Column("b", ColumnType.parse("boolean")),
    Column("i", ColumnType.parse("int")),
    Column("l", ColumnType.parse("long")),
    Column("f", ColumnType.parse("float")),
    Column("d", ColumnType.parse("double")),
    Column("m", ColumnType.parse("decimal(7,3)")),
    Column("w", ColumnType.parse("decimal(38,0)")),
    Column("y", ColumnType.parse("date")),
    Column("t", ColumnType.parse("timestamp")),
    Column("j", ColumnType.parse("json")),
    Column("p", ColumnType.parse("int"), RecordField.PARTITION),
    Column("o", ColumnType.parse("long"), RecordField.OFFSET),
    Column("k", ColumnType.parse("string"), RecordField.KEY),
    Column("a", ColumnType.parse("timestamp"), RecordField.TIMESTAMP),
)

texts = st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False))
escapes = st.text('\\"/bfnrtu0089daAfe \u00e9\U0001f600', max_size=12).map(lambda text: f'"{text}"')
integers = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**64), 2**64),
    st.integers(min_value=-(10**42), max_value=10**42),
    st.sampled_from([2**31, -(2**31) - 1, 2**63, -(2**63), -(2**63) - 1, 253402300800000, -62135596800001]),
).map(str)
decimals = st.from_regex(r"-?[0-9]{1,6}(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
odd_numbers = st.sampled_from(
    [
        *("-0", "0.0", "-0.0", "1e400", "-1e400", "1e39", "3.5e38", "1E5", "1234.567", "1234.5670"),
        *("01", "+1", ".5", "1.", "1e", "NaN", "Infinity"),
        *("0e999999999999", "1e999999999999", "1e-999999999999", "9" * 1001, "0." + "0" * 1200 + "1"),
    ]
)
dates = st.one_of(
    st.dates().map(lambda date: f'"{date}"'),
    st.sampled_from(['"2023-02-29"', '"0000-01-01"', '"2024-1-1"', '"+2024-01-01"', '"2024-01-01 "', '"10000-01-01"']),
)
time_of_day = r"[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,10})?)?"
moments = st.one_of(
    st.datetimes().map(lambda at: f'"{at.isoformat()}Z"'),
    st.tuples(st.datetimes(), st.integers(-30, 30), st.integers(0, 70)).map(
        lambda parts: f'"{parts[0].isoformat()}{parts[1]:+03d}:{parts[2]:02d}"'
    ),
    st.from_regex(rf'"20[0-9]{{2}}-0[1-9]-1[0-9]T{time_of_day}(Z|[+-]0[0-9]:[0-9]0)?"', fullmatch=True),
    st.sampled_from(['"2024-01-01T00:00:00"', '"2024-01-01t00:00:00z"', '"2024-01-01 00:00:00Z"']),
    st.sampled_from(['"0001-01-01T00:00:00+01:00"', '"9999-12-31T23:59:59-01:00"', '"2024-01-01T24:00:00Z"']),
)
words = st.sampled_from(["null", "true", "false", '""'])
scalars = st.one_of(texts, escapes, integers, decimals, odd_numbers, dates, moments, words)


def array(parts: list[str]) -> str:
    return f"[{', '.join(parts)}]"


def object_(fields: list[tuple[str, str]]) -> str:
    return "{" + " , ".join(f"{name} : {value}" for name, value in fields) + "}"


values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(array), st.lists(st.tuples(texts, inner), max_size=3).map(object_)
    ),
    max_leaves=6,
)
names = st.sampled_from([f'"{name}"' for name in (*"sbilfdmwytjpoka", "other", "s\\u0000", "\\u0073")])
objects = st.lists(st.tuples(names, values), max_size=5).map(object_)
whole = st.one_of(
    objects,
    values,
    st.tuples(st.sampled_from(["\ufeff", " \ufeff"]), objects).map("".join),
    st.tuples(objects, st.sampled_from([" ", "\n", "x", "{}", ",", "\u00a0", "\ufeff"])).map("".join),
).map(lambda text: text.encode("utf-8", "surrogatepass"))
broken = st.tuples(whole, st.integers(0, 200), st.binary(max_size=2)).map(
    lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
)
records = st.builds(
    SourceRecord,
    partition=st.one_of(st.integers(0, 3), st.sampled_from([2**19 - 1, 2**19])),
    offset=st.one_of(st.integers(0, 9), st.sampled_from([2**44 - 1, 2**44])),
    timestamp=st.sampled_from([0, -1, 1_700_000_000_123, 253402300799999, 253402300800000, -62135596800001]),
    value=st.one_of(st.none(), whole, whole, whole, broken, st.binary(max_size=20)),
    key=st.one_of(st.none(), st.binary(max_size=3), st.just("é".encode())),
)


def outcome(changes: Changes) -> tuple[Any, ...] | str:
    if changes.rejects.num_rows:
        return str(changes.rejects.column("reason")[0].as_py().split(":")[0])
    _, _, *row = (column[0].as_py() for column in changes.rows[0].columns)
    return tuple(row)


@pytest.fixture(scope="session")
def parse(parser: Callable[..., Parse]) -> Parse:
    return parser(COLUMNS, "s")


@settings(max_examples=1500, suppress_health_check=[HealthCheck.too_slow])
@given(record=records)
@example(record=SourceRecord(0, 0, 0, b'{"s": "x", "s": 1}'))
@example(record=SourceRecord(0, 0, 0, b'{"l": "x", "l": 1}'))
@example(record=SourceRecord(0, 0, 0, b'\xef\xbb\xbf{"s": "x"}'))
@example(record=SourceRecord(0, 0, 0, '{"s": "x"}'.encode("utf-16")))
@example(record=SourceRecord(0, 0, 0, b'{"s": "\xc0\x80"}'))
@example(record=SourceRecord(0, 0, 0, b'{"j": {"a" : [1.10, 1E2, "\\u0001\\n\\/"], "a": null}}'))
@example(record=SourceRecord(0, 0, 0, b'{"x": "\\ud800", "s": "\\ud83d\\ude00"}'))
@example(record=SourceRecord(0, 0, 0, b'{"j": "\\ud800"}'))
def test_the_parser_agrees_with_the_reference(parse: Parse, record: SourceRecord) -> None:
    expected = meaning(record, COLUMNS)
    actual = outcome(parse(record.value, record.key, record.partition, record.offset, record.timestamp))
    if isinstance(expected, Reject) and expected.condition == "NOT_AN_OBJECT" and actual == "INVALID_JSON":
        assert record.value is not None
        # `0x` at the root is a bad number, or 0 and a tail: both are right.
        assert record.value.lstrip(b" \t\r\n")[:1] in b"-0123456789tfn"
        return
    assert actual == (expected.condition if isinstance(expected, Reject) else expected)


def key(parse: Parse, value: bytes | None) -> bytes | None:
    """Returns the join key of a record."""
    parse(value)
    found: bytes | None = parse.key  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    ("spelled", "equal", "other"),
    [
        ("string", ['"a"', '"\\u0061"'], ['"A"', '"a "', '""', '"\\u0000"']),
        ("boolean", ["true"], ["false"]),
        ("int", ["7", "7 "], ["8", "-7", "0"]),
        ("long", ["9223372036854775807"], ["-1", "4294967295"]),
        ("decimal(38,2)", ["1.5", '"1.50"', "15e-1"], ["-1.5", "184467440737095516.17", "184467440737095517.66"]),
        ("date", ['"2024-02-29"'], ['"2024-03-01"']),
        ("timestamp", ['"2024-01-01T00:00:00Z"', '"2024-01-01T01:00+01:00"', "1704067200000"], ["1704067200001"]),
    ],
)
def test_rows_are_joined_by_the_typed_value_of_their_key(
    parser: Callable[..., Parse], spelled: str, equal: list[str], other: list[str]
) -> None:
    parse = parser([Column("k", ColumnType.parse(spelled))], "k")
    alike = {key(parse, f'{{"k": {value}}}'.encode()) for value in equal}
    apart = [key(parse, f'{{"k": {value}}}'.encode()) for value in other]
    assert len(alike) == 1
    assert len({*alike, *apart}) == 1 + len(other)


def test_rows_without_a_key_and_rejects_have_none_and_an_empty_one_is_a_key(parser: Callable[..., Parse]) -> None:
    parse = parser([Column("k", ColumnType.parse("string"))], "k")
    assert key(parse, b'{"k": "a"}') == b"a"
    for value in (b'{"k": null}', b"{}", b"no JSON", None):
        assert key(parse, value) is None
    assert key(parse, b'{"k": ""}') == b""


def test_a_row_of_one_byte_too_many_is_a_reject(parser: Callable[..., Parse]) -> None:
    """28 bytes of header, 1 of nulls, 4 for the end of the text, then the text."""
    parse = parser([Column("k", ColumnType.parse("string"))], "k", max_bytes=28 + 1 + 4 + 10)
    assert outcome(parse(b'{"k": "0123456789"}')) == ("0123456789",)
    assert outcome(parse(b'{"k": "0123456789a"}')) == "ROW_TOO_LARGE"


def test_a_reject_keeps_the_first_kilobyte_and_its_place(parser: Callable[..., Parse]) -> None:
    parse = parser([Column("k", ColumnType.parse("string"))], "k")
    value = bytes(range(256)) * 5
    (reject,) = parse(value, partition=3, offset=5_000_000_000, ts=7).rejects.to_pylist()
    assert reject | {"reason": ""} == {
        "side": 0,
        "partition": 3,
        "offset": 5_000_000_000,
        "timestamp": 7,
        "reason": "",
        "raw": value[:1024],
    }


def test_a_byte_order_mark_is_named(parser: Callable[..., Parse]) -> None:
    """Editors and producers on Windows write one, and it is invisible."""
    parse = parser([Column("k", ColumnType.parse("string"))], "k")
    (reject,) = parse(b'\xef\xbb\xbf{"k": "a"}').rejects.to_pylist()
    assert reject["reason"].startswith("INVALID_JSON: the value begins with a byte order mark (BOM, EF BB BF); ")
