"""Types guessed from records are types that take these records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.inference.columns import Sample, looked_at
from evertable.schema.columns import parse_columns


def of(*values: object) -> Sample:
    return looked_at("t", [json.dumps({"x": value}).encode() for value in values])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, 2), "long"),
        ((1, 2.5), "double"),
        ((True, None), "boolean"),
        (("a", "b"), "string"),
        (("2026-11-15", "2026-01-01"), "date"),
        (("2026-11-15T20:07:28Z", "2026-11-15T20:07:28.5+01:00"), "timestamp"),
        (("2026-11-15T20:07:28",), "string"),
        (("2026-11-15", "later"), "string"),
        (({"a": 1}, [1]), "json"),
        ((2**70,), "json"),
    ],
)
def test_a_type_for_each_kind_of_value(values: tuple[object, ...], expected: str) -> None:
    assert of(*values).columns == {"x": expected}
    assert of(*values).doubts == ()


def test_doubts_are_told() -> None:
    assert "several kinds (long, string)" in of(1, "one").doubts[0]
    assert "null in every record" in of(None).doubts[0]
    rare = looked_at("t", [b'{"x": 1, "y": 1}', b'{"x": 1}', b'{"x": 1}'])
    assert rare.doubts == ("t.y is in 1 of 3 records only",)
    broken = looked_at("t", [b'{"x": 1}', b"{", None, b"[]", b"7"])
    assert broken.doubts == ("4 of 5 records of t are no JSON objects; they go to dead_letters",)
    assert len(broken.rows) == 1


@given(
    st.lists(st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)))
)
def test_any_records_give_columns_that_can_be_configured(rows: list[dict[str, object]]) -> None:
    sample = looked_at("t", [json.dumps(row).encode() for row in rows])
    if sample.columns:
        assert [column.name for column in parse_columns(sample.columns)] == list(sample.columns)
