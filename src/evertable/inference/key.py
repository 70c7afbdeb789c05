"""The columns that two topics are joined by, guessed from their names and values."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass

from evertable.inference.columns import Sample

_NO_KEY = {"double", "json"}
_SURE = 0.5
_CLOSE = 0.2


@dataclass(frozen=True)
class Key:
    """A column of the left topic and one of the right."""

    left: str
    right: str
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    left: str
    right: str
    overlap: float
    """Which share of the right values are among the left ones."""
    score: float


def guess_key(left: Sample, right: Sample) -> Key | None:
    """None if no two columns have the same type."""
    pairs = itertools.product(left.columns.items(), right.columns.items())
    candidates = [
        _weighed(left, one, right, other)
        for (one, type_), (other, other_type) in pairs
        if type_ == other_type and type_ not in _NO_KEY
    ]
    if not candidates:
        return None
    best, *others = sorted(candidates, key=lambda candidate: -candidate.score)
    doubts = []
    if best.overlap < _SURE:
        found = f"{best.overlap:.0%} of the values of {right.topic}.{best.right}"
        doubts.append(f"the key is a guess by name: of what was looked at, {found} are in {left.topic}.{best.left}")
    for other in others:
        if other.score > best.score - _CLOSE:
            doubts.append(f"the key could also be {left.topic}.{other.left} = {right.topic}.{other.right}")
    return Key(best.left, best.right, tuple(doubts))


def _weighed(left: Sample, one: str, right: Sample, other: str) -> _Candidate:
    theirs, ours = _values(right, other), _values(left, one)
    overlap = len(theirs & ours) / len(theirs) if theirs else 0.0
    distinct = len(ours) / len(left.rows) if left.rows else 0.0
    named = (one == other) + 0.5 * one.lower().endswith(("id", "key"))
    return _Candidate(one, other, overlap, overlap * distinct + named)


def _values(sample: Sample, column: str) -> set[Hashable]:
    return {value for row in sample.rows if (value := row.get(column)) is not None}
