"""Parses a filter by recursive descent; docs/FILTERS.md describes the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from evertable.errors import FilterError, FilterTooLongError
from evertable.views.filters.lexer import Token, TokenKind, tokens
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
from evertable.views.view import MAX_FILTER_CHARS

MAX_PART_CHARS = 500  # in the text after contains, starts with or ends with
MAX_DEPTH = 50  # of nested parentheses and nots, far below Python's recursion limit


def parse(text: str) -> Expression | None:
    """Returns a filter's tree, None if it is blank; raises FilterError with what was expected, and where."""
    if len(text) > MAX_FILTER_CHARS:
        raise FilterTooLongError(f"The filter has {len(text)} characters; {MAX_FILTER_CHARS} are allowed.")
    if not text.strip():
        return None
    return _Parser(list(tokens(text))).filter()


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    def filter(self) -> Expression:
        whole = self._either()
        if self._token.kind is not TokenKind.END:
            self._fail("'and', 'or' or the end")
        return whole

    def _either(self) -> Expression:
        parts = [self._both()]
        while self._accept("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _both(self) -> Expression:
        parts = [self._negation()]
        while self._accept("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negation(self) -> Expression:
        if self._accept("not"):
            return Not(self._deeper(self._negation))
        if self._accept("("):
            inner = self._deeper(self._either)
            self._expect(")", "'and', 'or' or ')'")
            return inner
        return self._predicate()

    def _deeper(self, part: Callable[[], Expression]) -> Expression:
        if self._depth == MAX_DEPTH:
            raise FilterError(
                f"expected at most {MAX_DEPTH} nested parentheses and nots, found more",
                self._tokens[self._at - 1].position,
            )
        self._depth += 1
        inner = part()
        self._depth -= 1
        return inner

    def _predicate(self) -> Expression:
        if self._token.kind is not TokenKind.NAME:
            self._fail("a column, 'not' or '('" if self._at else "a column")
        column = self._next()
        for operator in Operator:
            if self._accept(operator):
                return Comparison(column, operator, self._operand())
        if self._accept("is"):
            negated = self._accept("not")
            self._expect("null", "'null'" if negated else "'null' or 'not null'")
            return Not(IsNull(column)) if negated else IsNull(column)
        negated = self._accept("not")
        predicate = self._worded(column)
        if predicate is None:
            self._fail("'in', 'between', 'contains', 'starts with' or 'ends with'" if negated else "a comparison")
        return Not(predicate) if negated else predicate

    def _worded(self, column: Token) -> Expression | None:
        """Parses a predicate whose operator is a word, which 'not' may precede."""
        if self._accept("in"):
            return In(column, self._list())
        if self._accept("between"):
            low = self._operand()
            self._expect("and", "'and'")
            high = self._operand()
            return And((Comparison(column, Operator.AT_LEAST, low), Comparison(column, Operator.AT_MOST, high)))
        for operator in TextOperator:
            first, *rest = operator.split()
            if self._accept(first):
                for word in rest:
                    self._expect(word, f"'{word}'")
                return TextSearch(column, operator, self._part(operator))
        return None

    def _part(self, operator: TextOperator) -> Token:
        text = self._text()
        if len(text.value) > MAX_PART_CHARS:
            raise FilterError(
                f"expected a text of at most {MAX_PART_CHARS} characters after '{operator}', found {len(text.value)}",
                text.position,
            )
        return text

    def _list(self) -> tuple[Token, ...]:
        self._expect("(", "'('")
        values = [self._literal()]
        while self._accept(","):
            values.append(self._literal())
        self._expect(")", "',' or ')'")
        return tuple(values)

    def _operand(self) -> Token:
        return self._next() if self._token.kind is TokenKind.NAME else self._literal()

    def _literal(self) -> Token:
        token = self._token
        is_keyword = token.kind is TokenKind.KEYWORD
        if token.kind in (TokenKind.NUMBER, TokenKind.TEXT) or (is_keyword and token.value in ("true", "false")):
            return self._next()
        if is_keyword and token.value == "null":
            wanted = "a value ('is null' finds nulls)"
        elif token.kind is TokenKind.NAME:
            wanted = "a value (text goes in single quotes)"
        else:
            wanted = "a value"
        return self._fail(wanted)

    def _text(self) -> Token:
        if self._token.kind is not TokenKind.TEXT:
            self._fail("a text in single quotes")
        return self._next()

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        """Consumes a token and returns it."""
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, word: str) -> bool:
        """Consumes the next token if it is this keyword or symbol."""
        token = self._token
        found = token.kind in (TokenKind.KEYWORD, TokenKind.SYMBOL) and token.value == word
        self._at += found
        return found

    def _expect(self, word: str, wanted: str) -> None:
        if not self._accept(word):
            self._fail(wanted)

    def _fail(self, wanted: str) -> NoReturn:
        after = f" after {self._tokens[self._at - 1]}" if self._at else ""
        raise FilterError(f"expected {wanted}{after}, found {self._token}", self._token.position)
