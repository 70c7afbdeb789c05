"""Finds columns by name."""

from __future__ import annotations

from collections.abc import Sequence

from evertable.schema.columns import Column


def places_of(columns: Sequence[Column]) -> dict[str, int]:
    """Where each name is among the columns; of a name that repeats, the first."""
    found: dict[str, int] = {}
    for i, column in enumerate(columns):
        found.setdefault(column.name, i)
    return found
