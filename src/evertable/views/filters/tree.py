"""A filter as a tree. Its leaves are tokens: names of columns and literals; equality ignores their positions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evertable.views.filters.lexer import Token


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
class Comparison:
    column: Token
    operator: Operator
    operand: Token


@dataclass(frozen=True)
class TextSearch:
    """A text operator, which ignores case."""

    column: Token
    operator: TextOperator
    text: Token


@dataclass(frozen=True)
class IsNull:
    column: Token


@dataclass(frozen=True)
class In:
    column: Token
    values: tuple[Token, ...]


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
