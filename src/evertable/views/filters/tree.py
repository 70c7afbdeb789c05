"""A filter as a tree. ``str()`` of a tree parses to an equal tree; equality ignores positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from evertable.views.filters.lexer import is_bare


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

    def __str__(self) -> str:
        return self.name if is_bare(self.name) else '"{}"'.format(self.name.replace('"', '""'))


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

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.operand}"


@dataclass(frozen=True)
class TextSearch:
    """A text operator, which ignores case."""

    column: ColumnName
    operator: TextOperator
    text: Text

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.text}"


@dataclass(frozen=True)
class IsNull:
    column: ColumnName

    def __str__(self) -> str:
        return f"{self.column} is null"


@dataclass(frozen=True)
class In:
    column: ColumnName
    values: tuple[Literal, ...]

    def __str__(self) -> str:
        return f"{self.column} in ({', '.join(map(str, self.values))})"


@dataclass(frozen=True)
class Not:
    part: Expression

    def __str__(self) -> str:
        return f"not {_inner(self.part)}"


@dataclass(frozen=True)
class And:
    """Two parts or more, so that long chains are not deep."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " and ".join(map(_inner, self.parts))


@dataclass(frozen=True)
class Or:
    """Two parts or more, so that long chains are not deep."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " or ".join(map(_inner, self.parts))


Predicate = Comparison | TextSearch | IsNull | In
Expression = Predicate | Not | And | Or


def _inner(part: Expression) -> str:
    return f"({part})" if isinstance(part, And | Or) else str(part)
