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
    warnings: tuple[str, ...] = ()


def infer_key(left: Sample, right: Sample) -> Key | None:
    """Returns the most probable key; None if no two columns have the same type."""
    scored = []
    for one, other in itertools.product(left.columns, right.columns):
        if left.columns[one] == right.columns[other] not in _NO_KEY:
            score, overlap = _compare(left, one, right, other)
            scored.append((score, overlap, one, other))
    if not scored:
        return None
    (best, overlap, left_column, right_column), *others = sorted(scored, key=lambda pair: -pair[0])
    warnings = []
    if overlap < _SURE:
        found = f"{overlap:.0%} of the values of {right.topic}.{right_column}"
        warnings.append(f"the key is a guess by name: in the samples, {found} are in {left.topic}.{left_column}")
    for score, _, one, other in others:
        if score > best - _CLOSE:
            warnings.append(f"the key could also be {left.topic}.{one} = {right.topic}.{other}")
    return Key(left_column, right_column, tuple(warnings))


def _compare(left: Sample, left_column: str, right: Sample, right_column: str) -> tuple[float, float]:
    """Returns a score for two columns, and the fraction of the right values that the left column has."""
    left_values, right_values = _values(left, left_column), _values(right, right_column)
    overlap = len(right_values & left_values) / len(right_values) if right_values else 0.0
    distinct = len(left_values) / len(left.rows) if left.rows else 0.0
    by_name = (left_column == right_column) + 0.5 * left_column.lower().endswith(("id", "key"))
    return overlap * distinct + by_name, overlap


def _values(sample: Sample, column: str) -> set[Hashable]:
    return {value for row in sample.rows if (value := row.get(column)) is not None}
