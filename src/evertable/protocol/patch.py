"""Patches: the difference between two pages of a view."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson

from evertable.protocol.answers import Stamp
from evertable.protocol.page import PageRows, Row

Splice = tuple[int, int, Sequence[Row]]
"""Index, number of rows to remove, rows to insert; indexes count after the splices before it."""
Cell = tuple[int, int, Any]
"""Row (after all splices), column, and the new value."""

_SPLICE_BYTES = len("[100,1,[]],")  # the overhead of replacing a single row


@dataclass(frozen=True)
class Patch:
    splice: Sequence[Splice] = ()
    cells: Sequence[Cell] = ()

    def __bool__(self) -> bool:
        return bool(self.splice or self.cells)


def patch_tail(stamp: Stamp, total: int, offset: int, patch: Patch) -> bytes:
    """Returns a patch frame without its prefix; send it if it is shorter than the tail of the page."""
    parts = [b'%b,"total":%d,"offset":%d' % (stamp.json, total, offset)]
    if patch.splice:
        parts.append(b'"splice":' + orjson.dumps(patch.splice))
    if patch.cells:
        parts.append(b'"cells":' + orjson.dumps(patch.cells))
    return b",".join(parts) + b"}"


def apply(rows: Sequence[Row], patch: Patch) -> list[Row]:
    """Returns the rows after the patch, without changing those given."""
    result = list(rows)
    for at, remove, put in patch.splice:
        result[at : at + remove] = put
    for row, column, value in patch.cells:
        old = result[row]
        result[row] = (*old[:column], value, *old[column + 1 :])
    return result


def diff(old: PageRows, new: PageRows) -> Patch:
    """Returns the patch from old to new rows, with as few whole rows as possible and otherwise changed cells."""
    kept = _kept(old.keys, new.keys)
    cells: list[Cell] = []
    staying = []
    for before, after in kept:
        if old.json[before] != new.json[after]:
            changed = _changed(after, old.values[before], new.values[after])
            if len(orjson.dumps(changed)) > len(new.json[after]) + _SPLICE_BYTES:
                continue  # most of the row is new: replace it as a whole
            cells += changed
        staying.append((before, after))
    return Patch(list(_splices(staying, len(old.keys), new.values)), cells)


def _changed(at: int, old: Row, new: Row) -> list[Cell]:
    """Returns the cells that differ as JSON: in Python, -0.0 equals 0.0."""
    pairs = enumerate(zip(old, new, strict=True))
    return [(at, column, b) for column, (a, b) in pairs if a is not b and orjson.dumps(a) != orjson.dumps(b)]


def _splices(kept: Sequence[tuple[int, int]], old_length: int, new: Sequence[Row]) -> Iterator[Splice]:
    """Yields splices for the gaps between kept rows, from the first to the last."""
    from_old = from_new = 0
    for before, after in (*kept, (old_length, len(new))):
        if before > from_old or after > from_new:
            yield from_new, before - from_old, new[from_new:after]
        from_old, from_new = before + 1, after + 1


def _kept(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Returns (old index, new index) of the most rows that are on both pages in the same order."""
    if old == new:
        return [(place, place) for place in range(len(new))]
    places = {key: place for place, key in enumerate(old)}
    survivors = [(before, after) for after, key in enumerate(new) if (before := places.get(key)) is not None]
    if all(a[0] < b[0] for a, b in pairwise(survivors)):
        return survivors  # no row moved
    return [survivors[i] for i in _longest_increasing([before for before, _ in survivors])]


def _longest_increasing(numbers: Sequence[int]) -> list[int]:
    """Returns the indexes of a longest increasing subsequence, by patience sorting in O(n log n)."""
    tops: list[int] = []  # by length, the smallest last number of a subsequence
    ends: list[int] = []  # and its index
    previous = [-1] * len(numbers)
    for i, number in enumerate(numbers):
        length = bisect_left(tops, number)
        if length:
            previous[i] = ends[length - 1]
        if length == len(tops):
            tops.append(number)
            ends.append(i)
        else:
            tops[length], ends[length] = number, i
    run: list[int] = []
    i = ends[-1] if ends else -1
    while i >= 0:
        run.append(i)
        i = previous[i]
    return run[::-1]
