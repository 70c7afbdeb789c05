"""Secrets: which values are, and what is shown instead of them."""

from __future__ import annotations

import re

MASK = "********"

_SAYS_SO = re.compile(r"passw|passphrase|secret|credential|jaas|token|api_?key|basic.auth.user.info", re.IGNORECASE)
_IS_ONE = re.compile(r"passw|passphrase|secret|jaas|^ssl\.(keystore\.key|key\.pem)$", re.IGNORECASE)
_WORD_SAYS_SO = frozenset({"key", "keys", "pass", "pw", "pwd", "auth"})
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_PLAIN_ENDINGS = (".location", ".file", ".url", ".ms", ".seconds", ".class", ".type", ".path", ".provider", ".enabled")
_VALUE_SAYS_SO = re.compile(r"://[^/\s:@]+:[^/\s@]+@|PRIVATE KEY-----|password\s*=", re.IGNORECASE)


class SecretText(str):
    """A text that expansion took from a file or from a variable whose name suggests a secret."""

    __slots__ = ()


def suggests_secret(name: str) -> bool:
    """Whether a property or a variable of that name is likely to hold a secret; rather once too often."""
    if name.lower().endswith(_PLAIN_ENDINGS):
        return False
    return bool(_SAYS_SO.search(name)) or any(word.lower() in _WORD_SAYS_SO for word in _WORDS.findall(name))


def is_secret(name: str) -> bool:
    """Whether a property of that name holds a secret for sure; rather once too seldom."""
    return suggests_secret(name) and bool(_IS_ONE.search(name))


def looks_secret(value: str) -> bool:
    """Whether a value gives itself away: credentials in an address, a private key, a login module's options."""
    return bool(_VALUE_SAYS_SO.search(value))
