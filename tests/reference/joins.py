"""Computes the joined table of each join from all rows of both sides: docs/JOINS.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from tests.changelog.encoder import row_id

from evertable.schema.joins import JoinType


@dataclass(frozen=True)
class Row:
    """A row of a source; ``key`` is the typed value to join on, or None."""

    partition: int
    offset: int
    timestamp: int
    key: Any
    values: tuple[Any, ...] = ()

    @property
    def id(self) -> int:
        return row_id(self.partition, self.offset)

    @property
    def order(self) -> tuple[int, int, int]:
        """The newest row has the greatest order."""
        return self.timestamp, self.partition, self.offset


Joined = frozenset[tuple[int | None, int | None]]
"""Rows of the joined table: a left and a right row id, None where the columns are null."""


def join(type_: JoinType, left: Collection[Row], right: Collection[Row], max_matches: int | None = None) -> Joined:
    """Returns the joined table of these rows, which may be in any order.

    Rows of a key with more than ``max_matches`` are shown as if they had no key.
    """
    if max_matches is not None:
        hidden = quarantined(type_, left, right, max_matches)
        left, right = ([replace(row, key=None) if row.key in hidden else row for row in rows] for rows in (left, right))
    return {JoinType.INNER: inner, JoinType.LEFT: left_, JoinType.NATURAL: natural, JoinType.ASOF: asof}[type_](
        left, right
    )


def quarantined(type_: JoinType, left: Collection[Row], right: Collection[Row], max_matches: int) -> set[Any]:
    """Returns the keys that have too many matches; more rows never make them fewer."""
    lefts, rights = (Counter(row.key for row in rows if row.key is not None) for rows in (left, right))
    return {key for key in lefts | rights if most_matches(type_, lefts[key], rights[key]) > max_matches}


def most_matches(type_: JoinType, left: int, right: int) -> int:
    """Returns how many matches a key with so many rows on each side has at most."""
    match type_:
        case JoinType.NATURAL:
            return left
        case JoinType.ASOF:
            return right
        case _:
            return left * right


def inner(left: Collection[Row], right: Collection[Row]) -> Joined:
    """Returns one row for each match."""
    return frozenset((one.id, other.id) for one in left for other in right if matches(one, other))


def left_(left: Collection[Row], right: Collection[Row]) -> Joined:
    """Returns one row for each match, and one with nulls for each left row without a match."""
    alone = [one for one in left if not any(matches(one, other) for other in right)]
    return inner(left, right) | {(one.id, None) for one in alone}


def natural(left: Collection[Row], right: Collection[Row]) -> Joined:
    """Returns one row for each left row, with the newest right row of its key."""
    return frozenset((one.id, newest(other for other in right if matches(one, other))) for one in left)


def asof(left: Collection[Row], right: Collection[Row]) -> Joined:
    """Returns one row for each right row, with the newest left row of its key that is not newer."""
    return frozenset(
        (newest(one for one in left if matches(one, other) and one.timestamp <= other.timestamp), other.id)
        for other in right
    )


def matches(one: Row, other: Row) -> bool:
    """Whether two rows match; null and missing keys never do."""
    return one.key is not None and one.key == other.key


def newest(rows: Any) -> int | None:
    """Returns the id of the newest of these rows, None if there are none."""
    found = max(rows, key=lambda row: row.order, default=None)
    return None if found is None else found.id
