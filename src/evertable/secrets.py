"""Recognises secrets, and masks them."""

from __future__ import annotations

import re

MASK = "********"

_MAYBE = re.compile(r"passw|passphrase|secret|credential|jaas|token|api_?key|basic.auth.user.info", re.IGNORECASE)
_CERTAIN = re.compile(r"passw|passphrase|secret|jaas|^ssl\.(keystore\.key|key\.pem)$", re.IGNORECASE)
_SECRET_WORDS = frozenset({"key", "keys", "pass", "pw", "pwd", "auth"})
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_PLAIN_ENDINGS = (".location", ".file", ".url", ".ms", ".seconds", ".class", ".type", ".path", ".provider", ".enabled")
_SECRET_VALUE = re.compile(r"://[^/\s:@]+:[^/\s@]+@|PRIVATE KEY-----|password\s*=", re.IGNORECASE)


class SecretText(str):
    """A text that came from a file, or from a variable whose name suggests a secret."""

    __slots__ = ()


def suggests_secret(name: str) -> bool:
    """Returns whether a property or variable of that name may be secret; prefers false positives."""
    if name.lower().endswith(_PLAIN_ENDINGS):
        return False
    return bool(_MAYBE.search(name)) or any(word.lower() in _SECRET_WORDS for word in _WORDS.findall(name))


def is_secret(name: str) -> bool:
    """Returns whether a property of that name is certainly secret; prefers false negatives."""
    return suggests_secret(name) and bool(_CERTAIN.search(name))


def looks_secret(value: str) -> bool:
    """Returns whether a value looks secret: credentials in a URL, a private key, a login module's options."""
    return bool(_SECRET_VALUE.search(value))
