"""Parses JSON strictly by RFC 8259, and keeps tokens as they are spelled."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

MAX_DEPTH = 1000
BLANK = " \t\n\r"

_TOKEN = re.compile(
    r"""
    (?P<mark>   [{}\[\],:] )
  | (?P<string> " (?: [^"\\\x00-\x1f] | \\ (?: ["\\/bfnrt] | u[0-9a-fA-F]{4} ) )* " )
  | (?P<number> -? (?: 0 | [1-9][0-9]* ) (?: \.[0-9]+ )? (?: [eE][+-]?[0-9]+ )? (?! [0-9A-Za-z.+_-] ) )
  | (?P<word>   (?: true | false | null ) (?! [0-9A-Za-z_] ) )
    """,
    re.VERBOSE,
)

_CLOSES = {"}": "{", "]": "["}


class NotJsonError(Exception):
    """The text is not JSON."""


class TooDeepError(Exception):
    """The text is nested deeper than MAX_DEPTH."""


class Token(NamedTuple):
    kind: str
    text: str

    @property
    def is_integer(self) -> bool:
        return self.kind == "number" and self.text.lstrip("-").isdigit()


def first_value(text: str) -> tuple[list[Token], str]:
    """Returns the tokens of the first JSON value in a text, and the rest of the text."""
    tokens: list[Token] = []
    containers: list[str] = []
    expected = "value"
    at = 0
    while True:
        at = _skip_blanks(text, at)
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotJsonError(f"at character {at}")
        token, at = Token(str(match.lastgroup), match.group()), match.end()
        tokens.append(token)
        expected = _next(token, expected, containers)
        if len(containers) > MAX_DEPTH:
            raise TooDeepError
        if expected == "after" and not containers:
            return tokens, text[at:]


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at


def _next(token: Token, expected: str, containers: list[str]) -> str:
    """Returns what may follow the token; updates the list of open containers."""
    is_value = expected in ("value", "first value")
    match token.text:
        case "{" | "[" if is_value:
            containers.append(token.text)
            return "first name" if token.text == "{" else "first value"
        case "}" | "]" if containers and containers[-1] == _CLOSES[token.text]:
            if expected == "after" or expected == ("first name" if token.text == "}" else "first value"):
                containers.pop()
                return "after"
        case "," if expected == "after":
            return "name" if containers[-1] == "{" else "value"
        case ":" if expected == "colon":
            return "value"
        case _ if token.kind == "string" and expected in ("name", "first name"):
            if any("\ud800" <= c <= "\udfff" for c in unquoted(token)):
                raise NotJsonError(f"{token.text} has half a surrogate pair")
            return "colon"
        case _ if token.kind != "mark" and is_value:
            return "after"
    raise NotJsonError(f"{token.text!r} where {expected} should be")


def members(tokens: list[Token]) -> dict[str, list[Token]]:
    """Returns an object's members, each with the tokens of its value; the last of equal names counts."""
    found: dict[str, list[Token]] = {}
    at = 1
    while tokens[at].text != "}":
        name = unquoted(tokens[at])
        begin = at = at + 2
        depth = 0
        while True:
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(tokens[at].text, 0)
            at += 1
            if depth == 0:
                break
        found[name] = tokens[begin:at]
        at += tokens[at].text == ","
    return found


def unquoted(token: Token) -> str:
    """Returns the text of a string; unpaired surrogates remain."""
    return str(json.loads(token.text))


def compact(tokens: list[Token]) -> str:
    """Returns the value without blanks, numbers as they are spelled, strings with as few escapes as possible."""
    return "".join(_quoted(unquoted(token)) if token.kind == "string" else token.text for token in tokens)


def _quoted(text: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    escaped = (short.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text)
    return f'"{"".join(escaped)}"'
