"""The reference page is the models' own account of themselves."""

from __future__ import annotations

from pathlib import Path

from evertable.config.reference import reference
from evertable.config.structure import fields


def test_the_page_is_up_to_date(repository: Path) -> None:
    """`python -m evertable.config.reference > docs/CONFIGURATION.md` makes it so."""
    assert reference() == (repository / "docs" / "CONFIGURATION.md").read_text()


def test_every_key_is_described() -> None:
    """A key without a sentence would be a row without an answer."""
    assert [path for path, info in fields() if not info.description] == []
