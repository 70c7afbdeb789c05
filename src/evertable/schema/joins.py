"""Join types, and the columns of the joined table."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from evertable.schema.columns import Column


class JoinInput(Protocol):
    """A source, as far as a join depends on it."""

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def columns(self) -> tuple[Column, ...]: ...


class JoinType(StrEnum):
    INNER = "inner"
    LEFT = "left"
    NATURAL = "natural"
    ASOF = "asof"

    @classmethod
    def parse(cls, text: str) -> JoinType:
        """Parses a join type or one of its aliases, in any case; ValueError."""
        spelled = text.strip().lower()
        if spelled in ("inner", "join"):
            return cls.INNER
        if spelled.startswith("left"):
            return cls.LEFT
        if spelled.startswith("natural"):
            return cls.NATURAL
        if spelled in ("asof", "aj", "as_of"):
            return cls.ASOF
        raise ValueError(f"'{text}' is not a join type; known are {', '.join(cls)}")


@dataclass(frozen=True)
class JoinedColumn:
    """A column of the joined table: its public name and its origin."""

    name: str
    source: str
    column: Column | None  # None: the Kafka timestamp of that source's record


def joined_columns(join: JoinType, left: JoinInput, right: JoinInput) -> tuple[JoinedColumn, ...]:
    """Returns the joined table's columns in order: the key once, and a clashing column as ``<source>_<column>``.

    Of two columns that clash, the right one is renamed; both give way to the ``ts`` that asof adds.
    """
    if join is JoinType.ASOF:
        added = [JoinedColumn("ts", right.name, None)]
        taken = {"ts"} | {column.name for column in left.columns if column.name != left.key}
        right_columns = [_named(right, column, taken) for column in right.columns]
        left_columns = [_named(left, column, {"ts"}) for column in _without_key(left)]
        return (*right_columns, *added, *left_columns)
    taken = {column.name for column in left.columns}
    left_columns = [JoinedColumn(column.name, left.name, column) for column in left.columns]
    return (*left_columns, *(_named(right, column, taken) for column in _without_key(right)))


def _without_key(source: JoinInput) -> list[Column]:
    return [column for column in source.columns if column.name != source.key]


def _named(source: JoinInput, column: Column, taken: Set[str]) -> JoinedColumn:
    name = f"{source.name}_{column.name}" if column.name in taken else column.name
    return JoinedColumn(name, source.name, column)
