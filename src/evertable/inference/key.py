"""Infers the key of two topics from the names and values of their columns."""

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
    """A column of the left topic and one of the right topic, to join by."""

    left: str
    right: str
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    left: str
    right: str
    overlap: float
    """The fraction of the right values that the left column has."""
    score: float


def infer_key(left: Sample, right: Sample) -> Key | None:
    """Returns the most probable key; None if no two columns have the same type."""
    pairs = itertools.product(left.columns.items(), right.columns.items())
    candidates = [
        _scored(left, left_column, right, right_column)
        for (left_column, left_type), (right_column, right_type) in pairs
        if left_type == right_type and left_type not in _NO_KEY
    ]
    if not candidates:
        return None
    best, *others = sorted(candidates, key=lambda candidate: -candidate.score)
    doubts = []
    if best.overlap < _SURE:
        found = f"{best.overlap:.0%} of the values of {right.topic}.{best.right}"
        doubts.append(f"the key is a guess by name: in the samples, {found} are in {left.topic}.{best.left}")
    for other in others:
        if other.score > best.score - _CLOSE:
            doubts.append(f"the key could also be {left.topic}.{other.left} = {right.topic}.{other.right}")
    return Key(best.left, best.right, tuple(doubts))


def _scored(left: Sample, left_column: str, right: Sample, right_column: str) -> _Candidate:
    left_values, right_values = _values(left, left_column), _values(right, right_column)
    overlap = len(right_values & left_values) / len(right_values) if right_values else 0.0
    distinct = len(left_values) / len(left.rows) if left.rows else 0.0
    by_name = (left_column == right_column) + 0.5 * left_column.lower().endswith(("id", "key"))
    return _Candidate(left_column, right_column, overlap, overlap * distinct + by_name)


def _values(sample: Sample, column: str) -> set[Hashable]:
    return {value for row in sample.rows if (value := row.get(column)) is not None}
