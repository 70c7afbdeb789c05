"""A patch turns the old page into the new one, and is as small as possible."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.protocol.answers import Stamp
from evertable.protocol.page import PageRows, Row
from evertable.protocol.patch import Patch, apply, diff, patch_tail

NAMES = [f"a person with the name {i}" for i in range(1_000)]


def page(*keys: int, **balances: float) -> PageRows:
    """Returns a page with these rows; ``k3=5.0`` sets the last column of the row with key 3."""
    return PageRows.of(list(keys), [(NAMES[key], key, balances.get(f"k{key}", 0.0)) for key in keys])


def through_json(patch: Patch) -> Patch:
    """Returns the patch as a client receives it."""
    frame = json.loads(b"{" + patch_tail(Stamp(1, 1, 1), 0, 0, patch))
    splices = [(at, remove, [tuple(row) for row in rows]) for at, remove, rows in frame.get("splice", [])]
    return Patch(splices, [tuple(cell) for cell in frame.get("cells", [])])


def check(old: PageRows, new: PageRows) -> Patch:
    patch = diff(old, new)
    assert apply(old.values, through_json(patch)) == list(new.values)
    return patch


@pytest.mark.parametrize(
    ("old", "new", "splice", "cells"),
    [
        (page(), page(), [], []),
        (page(1, 2), page(1, 2), [], []),
        (page(1, 2), page(1, 2, k2=5.0), [], [(1, 2, 5.0)]),
        (page(3, 2, 1), page(4, 3, 2), [(0, 0, 1), (3, 1, 0)], []),
        (page(1, 2, 3), page(2, 3, 4), [(0, 1, 0), (2, 0, 1)], []),
        (page(1, 2, 3, 4), page(1, 4), [(1, 2, 0)], []),
        (page(1, 4), page(1, 2, 3, 4), [(1, 0, 2)], []),
        (page(1, 2, 3), page(1, 5, 3), [(1, 1, 1)], []),
        (page(1, 2, 3, 4, 5), page(5, 1, 2, 3, 4), [(0, 0, 1), (5, 1, 0)], []),
        (page(1, 2), page(3, 4, 5), [(0, 2, 3)], []),
        (page(1, 2), page(), [(0, 2, 0)], []),
        (page(), page(1), [(0, 0, 1)], []),
        (page(1, 2, 3), page(0, 1, 3, k3=-0.0), [(0, 0, 1), (2, 1, 0)], [(2, 2, -0.0)]),
    ],
)
def test_a_patch_has_as_few_rows_as_possible(old: PageRows, new: PageRows, splice: list[Any], cells: list[Any]) -> None:
    """Splices are compared by the number of rows that they insert."""
    patch = check(old, new)
    assert [(at, remove, len(rows)) for at, remove, rows in patch.splice] == splice
    assert [(row, column, str(value)) for row, column, value in patch.cells] == [(r, c, str(v)) for r, c, v in cells]
    assert bool(patch) == bool(splice or cells)


def test_a_row_is_replaced_if_its_cells_would_be_longer() -> None:
    old = PageRows.of([1, 2], [(1, 2, 3, 4, "long text that stays as it is"), (1, 2, 3, 4, 5)])
    new = PageRows.of([1, 2], [(1, 9, 9, 9, "long text that stays as it is"), (6, 7, 8, 9, 0)])
    patch = check(old, new)
    assert patch.splice == [(1, 1, [(6, 7, 8, 9, 0)])]
    assert patch.cells == [(0, 1, 9), (0, 2, 9), (0, 3, 9)]


def test_a_patch_does_not_change_the_old_rows() -> None:
    """Others may still read the old page."""
    old = [("a", 1), ("b", 2)]
    assert apply(old, Patch([(0, 1, [])], [(0, 1, 3)])) == [("b", 3)]
    assert old == [("a", 1), ("b", 2)]


def test_an_empty_patch_has_neither_splice_nor_cells() -> None:
    frame = json.loads(b"{" + patch_tail(Stamp(5, 2, 3), 7, 10, Patch()))
    assert frame == {"generation": 3, "publication": 5, "version": 2, "total": 7, "offset": 10}


keys = st.lists(st.integers(0, 30), unique=True, max_size=20)
cells = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.0, -0.0, 1.5]) | st.text(max_size=3)


@given(keys, keys, st.data())
def test_any_page_becomes_any_other(old_keys: list[int], new_keys: list[int], data: st.DataObject) -> None:
    width = data.draw(st.integers(0, 4))

    def rows(count: int) -> list[Row]:
        return data.draw(st.lists(st.tuples(*[cells] * width), min_size=count, max_size=count))

    old, new = PageRows.of(old_keys, rows(len(old_keys))), PageRows.of(new_keys, rows(len(new_keys)))
    after = PageRows.of(new_keys, apply(old.values, through_json(diff(old, new))))
    assert after.json == new.json


@given(st.randoms(use_true_random=False))
def test_sorted_pages_whose_rows_move(chance: random.Random) -> None:
    """In a leader board balances change and rows move or leave; only rows that moved or are new are sent."""
    balances = {key: float(chance.randrange(100)) for key in range(40)}

    def board() -> PageRows:
        order = sorted(balances, key=lambda key: (-balances[key], key))[:20]
        return PageRows.of(order, [(NAMES[key], balances[key]) for key in order])

    old = board()
    touched = chance.sample(range(40), 3)
    balances |= {key: float(chance.randrange(100)) for key in touched}
    patch = check(old, board())
    assert sum(len(rows) for _, _, rows in patch.splice) <= 2 * len(touched)


def test_large_pages_in_any_order() -> None:
    """10,000 rows are shuffled, reversed and shifted; quadratic time would be noticeable."""
    keys = list(range(10_000))
    shuffled = random.Random(7).sample(keys, len(keys))
    for order in (shuffled, keys[::-1], [*keys[5_000:], *keys[:5_000]]):
        rows = [(key,) for key in order]
        check(PageRows.of(keys, [(key,) for key in keys]), PageRows.of(order, rows))
