"""Computes the rows of a view in plain Python, slowly and obviously."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cmp_to_key
from typing import Any

import numpy as np

from evertable.schema.columns import Column, ColumnType, Kind
from evertable.views.filters.lexer import Token, TokenKind
from evertable.views.filters.tree import (
    And,
    Comparison,
    Expression,
    In,
    IsNull,
    Not,
    Operator,
    Or,
    TextOperator,
    TextSearch,
)

Row = Sequence[Any]


class Naive:
    """Evaluates trees on rows of a table with these columns; a column that is not among them is null."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._types: Mapping[str, ColumnType] = {column.name: column.type for column in columns}
        self._names = [column.name for column in columns]

    def order(
        self, rows: Sequence[Row], sort: Sequence[str], where: Expression | None, newest_first: bool
    ) -> list[int]:
        """Returns the indexes of the rows that pass, in order."""
        shown = [i for i, row in enumerate(rows) if where is None or self.truth(where, row) is True]
        if newest_first:
            shown.reverse()
        for entry in reversed(sort):
            descending = entry not in self._names
            column = self._names.index(entry[1:] if descending else entry)
            known = [i for i in shown if rows[i][column] is not None]
            unknown = [i for i in shown if rows[i][column] is None]
            sign = -1 if descending else 1
            known.sort(key=cmp_to_key(lambda a, b, c=column, s=sign: s * _sign(rows[a][c], rows[b][c])))  # type: ignore[misc]
            shown = known + unknown
        return shown

    def truth(self, tree: Expression, row: Row) -> bool | None:
        match tree:
            case And():
                found = [self.truth(part, row) for part in tree.parts]
                return False if False in found else None if None in found else True
            case Or():
                found = [self.truth(part, row) for part in tree.parts]
                return True if True in found else None if None in found else False
            case Not():
                inner = self.truth(tree.part, row)
                return None if inner is None else not inner
            case IsNull():
                return self._value(tree.column, row) is None
            case Comparison():
                return self._compare(tree.column, tree.operator, tree.operand, row)
            case In():
                found = [self._compare(tree.column, Operator.EQUAL, value, row) for value in tree.values]
                return None if None in found else True in found
            case TextSearch():
                value = self._value(tree.column, row)
                return None if value is None else _matches(folded(value), tree.operator, folded(tree.text.value))

    def _value(self, column: Token, row: Row) -> Any:
        return row[self._names.index(column.value)] if column.value in self._names else None

    def _compare(self, column: Token, operator: Operator, operand: Token, row: Row) -> bool | None:
        left = self._value(column, row)
        if operand.kind is TokenKind.NAME:
            right = self._value(operand, row)
        else:
            right = None if column.value not in self._types else _as(operand.value, self._types[column.value].kind)
        if left is None or right is None:
            return None
        if isinstance(left, float) or isinstance(right, float):
            left, right = float(left), float(right)
        outcome: bool = {
            Operator.EQUAL: left == right,
            Operator.UNEQUAL: left != right,
            Operator.LESS: left < right,
            Operator.AT_MOST: left <= right,
            Operator.GREATER: left > right,
            Operator.AT_LEAST: left >= right,
        }[operator]
        return outcome


def _as(value: Any, kind: Kind) -> Any:
    """Converts a literal to a value of this kind."""
    match kind:
        case Kind.FLOAT:
            with np.errstate(over="ignore"):
                return float(np.float32(float(value)))
        case Kind.DOUBLE:
            return float(value)
        case Kind.DATE:
            return date.fromisoformat(value)
        case Kind.TIMESTAMP:
            time = datetime.fromisoformat(value)
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        case Kind.BOOLEAN:
            return value == "true"
        case _:
            return value


def folded(text: str) -> str:
    """Returns a text without case, character by character."""
    return "".join(c.casefold() if len(c.casefold()) == 1 else c.lower() if len(c.lower()) == 1 else c for c in text)


def _matches(text: str, operator: TextOperator, part: str) -> bool:
    return {
        TextOperator.CONTAINS: part in text,
        TextOperator.STARTS_WITH: text.startswith(part),
        TextOperator.ENDS_WITH: text.endswith(part),
    }[operator]


def _sign(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)
