"""Columns are parsed as written in a source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.schema.columns import Column, ColumnType, Kind, RecordField, parse_columns

decimals = st.integers(1, 38).flatmap(
    lambda precision: st.integers(0, precision).map(lambda scale: ColumnType(Kind.DECIMAL, precision, scale))
)
types = st.one_of(decimals, st.sampled_from([ColumnType(kind) for kind in Kind if kind is not Kind.DECIMAL]))


@given(types)
def test_every_type_is_parsed_as_it_is_written(column_type: ColumnType) -> None:
    """A type's text is parsed to the same type."""
    assert column_type == ColumnType.parse(str(column_type))


@pytest.mark.parametrize("text", ["lng", "decimal", "decimal(0,0)", "decimal(39,1)", "decimal(3,4)", "", "varchar(3)"])
def test_an_unknown_type_is_refused(text: str) -> None:
    """The message repeats what was written."""
    with pytest.raises(ValueError, match=r"is not a column type|needs 1"):
        ColumnType.parse(text)


def test_forms_of_a_column() -> None:
    """A type alone, a mapping with a type, or where the column comes from, which implies the type."""
    raw = {
        "userId": "string",
        "age": {"type": "Long"},
        "ts": {"from": "kafka.timestamp"},
        "offset": {"from": "kafka.offset", "type": "long"},
        "key": {"from": "kafka.key"},
        "partition": {"from": "Kafka.Partition", "type": None},
    }
    expected = (
        Column("userId", ColumnType(Kind.STRING)),
        Column("age", ColumnType(Kind.LONG)),
        Column("ts", ColumnType(Kind.TIMESTAMP), RecordField.TIMESTAMP),
        Column("offset", ColumnType(Kind.LONG), RecordField.OFFSET),
        Column("key", ColumnType(Kind.STRING), RecordField.KEY),
        Column("partition", ColumnType(Kind.INT), RecordField.PARTITION),
    )
    assert expected == parse_columns(raw)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"from": "kafka.time"}, "did you mean 'kafka.timestamp'"),
        ({"from": "kafka.offset", "type": "int"}, "kafka.offset is long, not int"),
        ({"form": "kafka.offset"}, "'form' is unknown; did you mean 'from'?"),
        ({}, "needs a type"),
        ({"type": ["long"]}, "needs a type"),
        (None, "has no type"),
        (["string"], "has no type"),
    ],
)
def test_a_column_that_makes_no_sense_is_refused(spec: object, message: str) -> None:
    """The message explains what is wrong."""
    with pytest.raises(ValueError, match=r"column|type|from|kafka") as refused:
        Column.parse("c", spec)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x00"])
def test_a_columns_name_is_printable(name: str) -> None:
    """Empty names, blanks and control characters are refused."""
    with pytest.raises(ValueError, match="name"):
        Column.parse(name, "string")
