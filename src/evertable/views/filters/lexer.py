"""Cuts a filter into tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from evertable.errors import FilterError

KEYWORDS = frozenset("and or not in is null between contains starts ends with true false".split())
MAX_EXPONENT_DIGITS = 6  # 1e999999 exceeds every column, and larger exponents are slow

_SHOWN = 30  # characters of a token in a message


class TokenKind(StrEnum):
    KEYWORD = "keyword"
    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end"


@dataclass(frozen=True)
class Token:
    """One token: ``source`` is its text, ``value`` its meaning."""

    kind: TokenKind
    value: Any
    """A Decimal for a number; else a text, without quotes, and in lower case for a keyword."""
    source: str = field(default="", compare=False)
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """Returns the token as error messages show it."""
        if self.kind is TokenKind.END:
            return "the end"
        shown = self.source if len(self.source) <= _SHOWN else self.source[:_SHOWN] + "…"
        if self.kind is TokenKind.TEXT:
            return f"the text {shown}"
        return shown if shown.startswith('"') else f"'{shown}'"


_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<word>[^\W\d][\w.]*)
      | (?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?(?P<exponent>[0-9]+))?)(?![\w.])
      | (?P<symbol><=|>=|<>|!=|[=<>(),])
      | (?P<text>'(?:[^']|'')*+')
      | (?P<name>"(?:[^"]|"")*+")
    """,
    re.VERBOSE,
)


def tokens(text: str) -> Iterator[Token]:
    """Yields the tokens of a filter, the last of kind END; raises FilterError for anything else."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = ord(text[error.start])
        raise FilterError(f"expected valid Unicode, found an unpaired surrogate (U+{found:04X})", error.start) from None
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _no_token(text, position)
        if match["space"] is None:
            yield _token(match)
        position = match.end()
    yield Token(TokenKind.END, "", "", len(text))


def _token(match: re.Match[str]) -> Token:
    source, position = match[0], match.start()
    if match["word"] is not None:
        if source.lower() in KEYWORDS:
            return Token(TokenKind.KEYWORD, source.lower(), source, position)
        return Token(TokenKind.NAME, source, source, position)
    if match["number"] is not None:
        if len(match["exponent"] or "") > MAX_EXPONENT_DIGITS:
            raise FilterError(
                f"expected an exponent of at most {MAX_EXPONENT_DIGITS} digits, found {len(match['exponent'])}",
                position,
            )
        return Token(TokenKind.NUMBER, Decimal(source), source, position)
    if match["text"] is not None:
        return Token(TokenKind.TEXT, source[1:-1].replace("''", "'"), source, position)
    if match["name"] is not None:
        if source == '""':
            raise FilterError("expected a column's name between the quotes, found nothing", position)
        return Token(TokenKind.NAME, source[1:-1].replace('""', '"'), source, position)
    return Token(TokenKind.SYMBOL, "!=" if source == "<>" else source, source, position)


def _no_token(text: str, position: int) -> FilterError:
    found = text[position]
    if found in "'\"":
        return FilterError(f"expected a closing {found} for the one that opens here, found the end", position)
    if found.isdecimal() or text[position : position + 2].rstrip("0123456789") in ("+", "-", ".", "+.", "-."):
        rest = re.match(r"[\w.+-]+", text[position:])
        return FilterError(f"expected a number, found '{rest[0][:_SHOWN] if rest else found}'", position)
    shown = found if found.isprintable() else f"U+{ord(found):04X}"
    return FilterError(f"expected a column, a value or an operator, found '{shown}'", position)
