"""Text operators ignore case, and can be stopped between two pieces."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.views.naive import folded
from tests.views.snapshots import ChunkedSnapshot

from evertable.errors import FilterError
from evertable.schema.columns import parse_columns
from evertable.views import columns as columns_module
from evertable.views.columns import casefold
from evertable.views.filters import bind, parse
from evertable.views.query import Query
from evertable.views.view import View

COLUMNS = parse_columns({"id": "long", "text": "string"})
LETTERS = [chr(code) for code in (*range(0x20, 0x590), *range(0x1E00, 0x2000), 0x212A, 0x212B)]


def total(text: str, where: str) -> int:
    snapshot = ChunkedSnapshot(COLUMNS, [(1, text), (2, None)])
    return len(Query.parse(View(filter=where)).bind(COLUMNS).order(snapshot))


def test_letters_are_equal_as_in_the_reference() -> None:
    """They are Latin, Greek and Cyrillic, with the Turkish i's, which have no other case."""
    ours, theirs = dict[str, list[str]](), dict[str, list[str]]()
    for letter in LETTERS:
        ours.setdefault(casefold(pa.chunked_array([[letter]]))[0].as_py(), []).append(letter)
        theirs.setdefault(folded(letter), []).append(letter)
    assert sorted(ours.values()) == sorted(theirs.values())


@pytest.mark.parametrize("operator", ["contains", "starts with", "ends with"])
@pytest.mark.parametrize(
    ("text", "part", "fits"),
    [
        ("STRASSE", "strasse", True),
        ("STRASSE", "straße", False),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", True),
        ("K", "k", True),
        ("ſ", "S", True),
        ("I", "ı", False),
        ("İ", "i", False),
        ("İı", "İı", True),
        (".*", ".*", True),
        ("ab", ".*", False),
        ("", "", True),
        ("éa", "", True),
        ("a", "aa", False),
    ],
)
def test_text_operators(operator: str, text: str, part: str, fits: bool) -> None:
    assert total(text, f"text {operator} '{part}'") == fits


@pytest.mark.parametrize("operator", ["contains", "starts with", "ends with"])
def test_a_part_has_a_limit(operator: str) -> None:
    parse(f"text {operator} '{'x' * 500}'")
    with pytest.raises(FilterError, match=f"at most 500 characters after '{operator}', found 501") as rejected:
        parse(f"id = 1 or text {operator} '{'x' * 501}'")
    assert rejected.value.position == len(f"id = 1 or text {operator} ")


def test_work_can_be_stopped_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces are limited by rows and by text; the check is called for each predicate on each piece."""
    monkeypatch.setattr(columns_module, "MAX_ROWS", 100)
    monkeypatch.setattr(columns_module, "MAX_BYTES", 10_000)
    rows = [(number, "x" * (5_000 if number < 10 else 1)) for number in range(1_000)]
    snapshot = ChunkedSnapshot(COLUMNS, rows)
    tree = parse("text contains 'y' or text contains 'z'")
    assert tree is not None
    bound = bind(tree, COLUMNS)
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == stop_at:
            raise RuntimeError("stopped")

    stop_at = 0
    assert not np.array(bound.mask(snapshot, check)).any()
    assert checks >= 3 * (10 + 9)
    checks, stop_at = 0, 4
    with pytest.raises(RuntimeError, match="stopped"):
        bound.mask(snapshot, check)
    assert checks == 4
