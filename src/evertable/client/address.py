"""Where the server is and how to show oneself to it; the token appears in no text."""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from evertable import __version__
from evertable.client.errors import AddressError

DEFAULT_URL = "http://127.0.0.1:10000"
TOKEN_VARIABLE = "EVERTABLE_TOKEN"  # noqa: S105 - its name

_LOCAL = "http://127.0.0.1:10000, or https://tables.example.com"


@dataclass(frozen=True)
class Address:
    """A server's address with the token that opens it, and the certificates to trust."""

    url: str = DEFAULT_URL
    token: str | None = field(default=None, repr=False)
    ca: Path | None = None
    """A PEM file, where the server's certificate is not one that this machine trusts."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.rstrip("/"))
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise AddressError("The address is not one of http or https.", f"Write it like {_LOCAL}.")
        if parts.username is not None or parts.query or parts.fragment:
            raise AddressError(
                "The address holds more than a host, a port and a path.", "A token is given apart, never in it."
            )
        if self.token is not None and not re.fullmatch("[!-~]+", self.token):
            raise AddressError("The token is not one word of visible ASCII characters, as every server's is.")

    @property
    def websocket(self) -> str:
        return f"ws{self.url.removeprefix('http')}/ws"

    @property
    def headers(self) -> dict[str, str]:
        headers = {"User-Agent": f"evertable/{__version__}"}
        return headers if self.token is None else {**headers, "Authorization": f"Bearer {self.token}"}

    @cached_property
    def tls(self) -> ssl.SSLContext | None:
        """What to trust; None for plain http."""
        if not self.url.startswith("https:"):
            return None
        try:
            return ssl.create_default_context(cafile=self.ca)
        except OSError as error:
            raise AddressError(f"{self.ca} holds no certificates: {error}", "Give a PEM file.") from None


def given_token(file: Path | None) -> str | None:
    """The token that the file holds or, without one, ``EVERTABLE_TOKEN``."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip() or None
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AddressError(f"{file} cannot be read: {error}", "It should hold the token.") from None
