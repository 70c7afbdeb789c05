"""The inputs of a generation's tables, and their rows as tests compare them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
from tests.reference.histories import COLUMNS, KEY
from tests.reference.outcome import Outcome

from evertable.schema.joins import JoinType
from evertable.tables.generation import Input
from evertable.tables.table import Readable

INPUTS = (Input("users", "users_v1", KEY, COLUMNS[0]), Input("accounts", "accounts_v1", KEY, COLUMNS[1]))

Rows = list[tuple[Any, ...]]


def rows_of(table: Readable) -> Rows:
    """All rows, in the order of slots."""
    extent = table.extent
    slots = np.arange(extent.first, extent.end)
    columns = table.take(slots, range(len(table.columns))).columns
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def joined_rows(join: JoinType, outcome: Outcome) -> Counter[tuple[Any, ...]]:
    """The joined table's rows by the reference: the columns side by side, the key once."""
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
