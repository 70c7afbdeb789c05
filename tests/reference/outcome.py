"""The expected content of the changelog of some source records, to compare with a fold of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.fold import Fold
from tests.reference.joins import Joined, Row, join
from tests.reference.records import Reject, SourceRecord, meaning

from evertable.changelog.schema import Side
from evertable.schema.columns import Column
from evertable.schema.joins import JoinType

Placed = tuple[Side, SourceRecord]


@dataclass(frozen=True)
class Outcome:
    """Rows of each side by id (timestamp, then values), conditions of rejects by place, and the joined table."""

    rows: tuple[dict[int, tuple[Any, ...]], dict[int, tuple[Any, ...]]]
    rejects: dict[tuple[int, int, int], str]
    joined: Joined


def expected(
    type_: JoinType,
    columns: tuple[Sequence[Column], Sequence[Column]],
    keys: tuple[str, str],
    records: Iterable[Placed],
    max_matches: int | None = None,
) -> Outcome:
    """Returns the expected outcome of these records, which may be in any order."""
    sides: tuple[list[Row], list[Row]] = ([], [])
    rejects: dict[tuple[int, int, int], str] = {}
    for side, record in records:
        values = meaning(record, columns[side])
        if isinstance(values, Reject):
            rejects[int(side), record.partition, record.offset] = values.condition
        else:
            key = values[[column.name for column in columns[side]].index(keys[side])]
            sides[side].append(Row(record.partition, record.offset, record.timestamp, key, values))
    left, right = ({row.id: (row.timestamp, *row.values) for row in rows} for rows in sides)
    return Outcome((left, right), rejects, join(type_, *sides, max_matches))


def outcome_of(fold: Fold) -> Outcome:
    """Returns the actual outcome."""
    conditions = {place: reason.partition(":")[0] for place, (_, reason, _) in fold.rejects.items()}
    return Outcome(fold.rows, conditions, fold.joined)
