"""Reads the rows of tables, and returns those that the reference expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np
from tests.reference.histories import COLUMNS, KEY
from tests.reference.outcome import Outcome

from evertable.config.models import Source
from evertable.schema.columns import Column
from evertable.schema.joins import JoinType
from evertable.tables.table import Snapshot, Table


def _source(name: str, columns: Iterable[Column]) -> Source:
    types = {column.name: str(column.type) for column in columns}
    return Source.model_validate({"name": name, "topic": f"{name}_v1", "key": KEY, "columns": types})


INPUTS = (_source("users", COLUMNS[0]), _source("accounts", COLUMNS[1]))


def rows_of(table: Table | Snapshot) -> list[tuple[Any, ...]]:
    """Returns all rows, in the order of slots."""
    extent = table.extent
    slots = np.arange(extent.first, extent.end)
    columns = table.take(slots, range(len(table.columns))).columns
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def joined_rows(join: JoinType, outcome: Outcome) -> Counter[tuple[Any, ...]]:
    """Returns the rows that the joined table must have by the reference: both sides' columns, with one key."""
    left, right = outcome.rows
    found: Counter[tuple[Any, ...]] = Counter()
    for one, other in outcome.joined:
        _, *left_values = left[one] if one is not None else (None,) * (1 + len(COLUMNS[0]))
        ts, *right_values = right[other] if other is not None else (None,) * (1 + len(COLUMNS[1]))
        if join is JoinType.ASOF:
            moment = datetime.fromtimestamp((ts or 0) / 1000, UTC)
            found[(*right_values, moment, *left_values[1:])] += 1
        else:
            found[(*left_values, *right_values[1:])] += 1
    return found
