"""A server's address, and the credentials for it. The token appears in no text."""

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
TOKEN_VARIABLE = "EVERTABLE_TOKEN"  # noqa: S105 - a name, not a token


@dataclass(frozen=True)
class Address:
    """A server's URL, its token, and the certificates to trust."""

    url: str = DEFAULT_URL
    token: str | None = field(default=None, repr=False)
    ca: Path | None = None
    """A PEM file to check the server's certificate with; None for the certificates that this machine trusts."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", self.url.rstrip("/"))
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise AddressError(
                "The address must begin with http:// or https://.",
                "For example http://127.0.0.1:10000, or https://tables.example.com",
            )
        if parts.username is not None or parts.query or parts.fragment:
            raise AddressError(
                "The address may hold only a host, a port and a path.", "Pass the token separately, never in it."
            )
        if self.token is not None and not re.fullmatch("[!-~]+", self.token):
            raise AddressError("The token must be one word of printable ASCII characters.")

    @property
    def websocket(self) -> str:
        return f"ws{self.url.removeprefix('http')}/ws"

    @property
    def headers(self) -> dict[str, str]:
        headers = {"User-Agent": f"evertable/{__version__}"}
        return headers if self.token is None else {**headers, "Authorization": f"Bearer {self.token}"}

    @cached_property
    def tls(self) -> ssl.SSLContext | None:
        """The certificates to trust; None for plain http."""
        if not self.url.startswith("https:"):
            return None
        try:
            return ssl.create_default_context(cafile=self.ca)
        except OSError as error:
            raise AddressError(f"{self.ca} holds no usable certificates: {error}", "Give a PEM file.") from None


def read_token(file: Path | None) -> str | None:
    """Returns the token in the file or, without a file, in ``EVERTABLE_TOKEN``."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip() or None
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AddressError(f"Cannot read {file}: {error}", "It must hold the token.") from None
