"""Properties of other programs: flat, immutable, their secrets wrapped."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from evertable.properties import Properties
from evertable.secrets import MASK, SecretText, looks_secret


def test_nested_and_dotted_are_the_same() -> None:
    """Names are joined with dots, lists with commas; numbers and booleans become texts, nulls are dropped."""
    nested = {"a": {"b": {"c": 1}, "d": True}, "e.f": ["x", "y"], "g": 1.5, "h": None}
    assert Properties.parse(nested).reveal() == {"a.b.c": "1", "a.d": "true", "e.f": "x,y", "g": "1.5"}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"a": {"b": 1}, "a.b": 2}, "is given twice, nested and with dots"),
        ({"sasl.password": {"x": "y"}}, "must be one text; put it in quotes"),
        ({"": "x"}, "a property has an empty name"),
        ({"a": [["x"]]}, "must be one text, a number, true, false, or a list of those"),
    ],
)
def test_invalid_properties(raw: object, message: str) -> None:
    """Each is a separate problem."""
    with pytest.raises(ValueError, match="configuration") as refused:
        Properties.parse(raw)
    assert message in str(refused.value)


@pytest.mark.parametrize("value", ["http://me:hunter2@proxy", "-----BEGIN PRIVATE KEY-----", 'x password="y"'])
def test_values_that_look_like_secrets(value: str) -> None:
    """Under any name."""
    assert looks_secret(value)
    assert Properties.of({"x": value}).masked() == {"x": MASK}


def test_secrets_are_wrapped() -> None:
    """Names, values or expansion mark them; only ``reveal`` returns them."""
    properties = Properties.parse({"sasl.password": "a", "x": SecretText("b"), "y": SecretStr("c"), "z": "d"})
    assert properties.masked() == {"sasl.password": MASK, "x": MASK, "y": MASK, "z": "d"}
    assert properties.reveal() == {"sasl.password": "a", "x": "b", "y": "c", "z": "d"}
    assert repr(properties) == "Properties({'sasl.password': '********', 'x': '********', 'y': '********', 'z': 'd'})"
    assert repr(properties) == f"{properties}"


names = st.text(st.characters(categories=["Ll", "Lu"]), min_size=1)


@given(st.dictionaries(names, st.text()))
def test_any_value_is_kept(texts: dict[str, str]) -> None:
    """Character by character, through parsing and through another process."""
    properties = Properties.parse(texts)
    assert texts == properties.reveal()
    assert properties == pickle.loads(pickle.dumps(properties))  # noqa: S301 - our own bytes
