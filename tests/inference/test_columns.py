"""Inferred types accept the records that they were inferred from."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.inference.columns import Sample, sample_of
from evertable.schema.columns import parse_columns


def sample(*values: object) -> Sample:
    return sample_of("t", [json.dumps({"x": value}).encode() for value in values])


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
    assert sample(*values).columns == {"x": expected}
    assert sample(*values).warnings == ()


def test_warnings() -> None:
    assert "several types (long, string)" in sample(1, "one").warnings[0]
    assert "null in every sampled record" in sample(None).warnings[0]
    rare = sample_of("t", [b'{"x": 1, "y": 1}', b'{"x": 1}', b'{"x": 1}'])
    assert rare.warnings == ("t.y is in only 1 of 3 records",)
    broken = sample_of("t", [b'{"x": 1}', b"{", None, b"[]", b"7"])
    assert broken.warnings == ("4 of 5 records of t are not JSON objects and would go to dead_letters",)
    assert len(broken.rows) == 1


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=5), max_size=5))
def test_any_records_give_columns_that_can_be_configured(rows: list[dict[str, object]]) -> None:
    found = sample_of("t", [json.dumps(row).encode() for row in rows])
    if found.columns:
        assert [column.name for column in parse_columns(found.columns)] == list(found.columns)
