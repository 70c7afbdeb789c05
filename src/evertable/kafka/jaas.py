"""Writes and parses login modules' lines (``sasl.jaas.config``) as Java's clients do."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
LOGIN_MODULES = {"PLAIN": PLAIN_MODULE, "SCRAM-SHA-256": SCRAM_MODULE, "SCRAM-SHA-512": SCRAM_MODULE}

_MODULE = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b", re.IGNORECASE)
_OPTION = re.compile(r"""([\w.-]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""", re.DOTALL)
_ESCAPES = {"\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)


def line(module: str, options: Mapping[str, str]) -> str:
    """Returns the line for a module and its options; any characters are allowed in their values."""
    return f"{module} required{''.join(f' {name}={_quoted(text)}' for name, text in options.items())};"


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Returns the module and the options in a line; an empty module if it is not a login module's line."""
    begin = _MODULE.match(text)
    if begin is None:
        return "", {}
    return begin[1], {match[1]: _unquoted(match[2]) for match in _OPTION.finditer(text, begin.end())}


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def _unquoted(text: str) -> str:
    """Reads a value as Java's StreamTokenizer does: escapes count only inside quotes."""
    if text[0] not in "\"'":
        return text
    return _ESCAPED.sub(lambda match: _unescaped(match[1]), text[1:-1])


def _unescaped(escape: str) -> str:
    return chr(int(escape, 8)) if escape[0] in "01234567" else _CONTROL.get(escape, escape)
