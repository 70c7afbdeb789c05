"""Prints a filter's tree as a text that parses to an equal tree."""

from __future__ import annotations

import re

from evertable.views.filters.lexer import KEYWORDS
from evertable.views.filters.tree import And, ColumnName, Comparison, Expression, In, IsNull, Not, Operand, Or


def printed(tree: Expression) -> str:
    match tree:
        case And():
            return " and ".join(map(_inner, tree.parts))
        case Or():
            return " or ".join(map(_inner, tree.parts))
        case Not():
            return f"not {_inner(tree.part)}"
        case IsNull():
            return f"{_operand(tree.column)} is null"
        case In():
            return f"{_operand(tree.column)} in ({', '.join(map(str, tree.values))})"
        case Comparison():
            return f"{_operand(tree.column)} {tree.operator} {_operand(tree.operand)}"
        case _:
            return f"{_operand(tree.column)} {tree.operator} {tree.text}"


def _inner(part: Expression) -> str:
    return f"({printed(part)})" if isinstance(part, And | Or) else printed(part)


def _operand(operand: Operand) -> str:
    if not isinstance(operand, ColumnName):
        return str(operand)
    if re.fullmatch(r"[^\W\d][\w.]*", operand.name) and operand.name.lower() not in KEYWORDS:
        return operand.name
    return '"{}"'.format(operand.name.replace('"', '""'))
