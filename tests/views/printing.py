"""Prints a filter's tree as a text that parses to an equal tree."""

from __future__ import annotations

import re
from decimal import Decimal

from evertable.views.filters.lexer import KEYWORDS, Token, TokenKind
from evertable.views.filters.tree import And, Comparison, Expression, In, IsNull, Not, Or


def printed(tree: Expression) -> str:
    match tree:
        case And():
            return " and ".join(map(_inner, tree.parts))
        case Or():
            return " or ".join(map(_inner, tree.parts))
        case Not():
            return f"not {_inner(tree.part)}"
        case IsNull():
            return f"{_token(tree.column)} is null"
        case In():
            return f"{_token(tree.column)} in ({', '.join(map(_token, tree.values))})"
        case Comparison():
            return f"{_token(tree.column)} {tree.operator} {_token(tree.operand)}"
        case _:
            return f"{_token(tree.column)} {tree.operator} {_token(tree.text)}"


def _inner(part: Expression) -> str:
    return f"({printed(part)})" if isinstance(part, And | Or) else printed(part)


def _token(token: Token) -> str:
    if token.kind is TokenKind.TEXT:
        return "'{}'".format(token.value.replace("'", "''"))
    if token.kind is not TokenKind.NAME:
        return str(token.value)
    if re.fullmatch(r"[^\W\d][\w.]*", token.value) and token.value.lower() not in KEYWORDS:
        return str(token.value)
    return '"{}"'.format(token.value.replace('"', '""'))


def name(value: str) -> Token:
    return Token(TokenKind.NAME, value)


def number(value: Decimal | int) -> Token:
    return Token(TokenKind.NUMBER, Decimal(value))


def text(value: str) -> Token:
    return Token(TokenKind.TEXT, value)


def truth(value: bool) -> Token:
    return Token(TokenKind.KEYWORD, str(value).lower())
