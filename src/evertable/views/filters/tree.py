"""A filter as a tree; equality ignores positions. ``str()`` of a literal is how it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum


class Operator(StrEnum):
    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


class TextOperator(StrEnum):
    CONTAINS = "contains"
    STARTS_WITH = "starts with"
    ENDS_WITH = "ends with"


@dataclass(frozen=True)
class ColumnName:
    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Number:
    value: Decimal
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Text:
    value: str
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return "'{}'".format(self.value.replace("'", "''"))


@dataclass(frozen=True)
class Truth:
    value: bool
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return "true" if self.value else "false"


Literal = Number | Text | Truth
Operand = ColumnName | Literal


@dataclass(frozen=True)
class Comparison:
    column: ColumnName
    operator: Operator
    operand: Operand


@dataclass(frozen=True)
class TextSearch:
    """A text operator, which ignores case."""

    column: ColumnName
    operator: TextOperator
    text: Text


@dataclass(frozen=True)
class IsNull:
    column: ColumnName


@dataclass(frozen=True)
class In:
    column: ColumnName
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class Not:
    part: Expression


@dataclass(frozen=True)
class And:
    """Two parts or more, so that long chains are not deep."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Or:
    """Two parts or more, so that long chains are not deep."""

    parts: tuple[Expression, ...]


Predicate = Comparison | TextSearch | IsNull | In
Expression = Predicate | Not | And | Or
