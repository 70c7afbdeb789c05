"""The reference page describes every key and every column type."""

from __future__ import annotations

import re

import pytest
from scripts.reference import configuration_page
from tests.markdown import ROOT

from evertable.config.loading import places_searched
from evertable.config.structure import fields
from evertable.schema.columns import RECORD_FIELD_KINDS, Kind


@pytest.fixture
def page() -> str:
    return (ROOT / "docs" / "CONFIGURATION.md").read_text()


def test_the_tables_are_up_to_date(page: str) -> None:
    """`scripts/reference.py` makes them so."""
    assert configuration_page(page) == page


def test_every_key_is_described() -> None:
    """No key is without a sentence."""
    assert [path for path, info in fields() if not info.description] == []


def test_every_column_type_is_described(page: str) -> None:
    types, record_fields = page.split("## Column types")[1].split("## ")[0].split("A column may come from")
    assert [word.removesuffix("(p,s)") for word in re.findall(r"^\| `([^`]+)` \|", types, re.MULTILINE)] == [*Kind]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", record_fields, re.MULTILINE)
    assert rows == [(part, kind) for part, kind in RECORD_FIELD_KINDS.items()]


def test_the_places_searched_are_listed(page: str) -> None:
    places = places_searched({"XDG_CONFIG_HOME": "$XDG_CONFIG_HOME"})
    assert ", ".join(f"`{place}`" for place in places) in page
