"""The ``server`` section: address, access and limits."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from evertable.config.section import Section, absolute_path, split_list
from evertable.problems import Problem, invalid

SHORT_TOKEN = 16  # characters; fewer can be guessed

_HOST = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?")
_VISIBLE = re.compile(r"[!-~]+")


def is_loopback(host: str) -> bool:
    """Returns whether ``host`` can only be this machine; does not resolve names other than localhost."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _host(text: str) -> str:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if not _HOST.fullmatch(bare):
        raise ValueError(f"'{text}' is not a host; write a name or an address, without scheme and port")
    return bare


def _token(token: SecretStr) -> SecretStr:
    if not _VISIBLE.fullmatch(token.get_secret_value()):
        raise ValueError("must be visible ASCII characters without blanks, as it is sent in a header")
    return token


def origin(text: str) -> str:
    """Returns an origin as browsers send it (``https://host:8443``); ValueError if it is not one."""
    if text.strip() == "*":
        raise ValueError("'*' would let every web page in; list the pages' origins, such as https://dash.example.com")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    whole = parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/") and "@" not in parts.netloc
    if not whole or parts.query or parts.fragment or parts.netloc.endswith(":") or not _VISIBLE.fullmatch(text):
        raise ValueError(f"'{text}' is not an origin; write scheme://host or scheme://host:port")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, default) else "")


class Tls(Section):
    """The server's own certificate; without one, put a proxy in front for https."""

    certificate: Annotated[str, AfterValidator(absolute_path)] = Field(
        min_length=1, description="PEM file with the certificate and its chain; relative to the configuration"
    )
    key: Annotated[str, AfterValidator(absolute_path)] = Field(min_length=1, description="PEM file with its key")
    key_password: SecretStr | None = Field(default=None, description="if the key is encrypted")


class Server(Section):
    """Address, access and limits of the server."""

    host: Annotated[str, AfterValidator(_host)] = Field(
        default="127.0.0.1", description="address or name to listen on; anything but loopback needs a token"
    )
    port: int = Field(default=10000, ge=0, le=65535, description="0: any that is free")
    token: Annotated[SecretStr, AfterValidator(_token)] | None = Field(
        default=None,
        description="the token that viewers must send; null: no token, and only loopback is served",
        json_schema_extra={"variable": "EVERTABLE_TOKEN"},
    )
    origins: Annotated[tuple[Annotated[str, AfterValidator(origin)], ...], BeforeValidator(split_list)] = Field(
        default=(),
        description="other web pages that may connect, as `scheme://host[:port]`",
        json_schema_extra={"default": "`[]`"},
    )
    tick_ms: int = Field(default=10, ge=1, le=10_000, description="shortest time between two updates of a viewer")
    max_page: int = Field(default=10_000, ge=1, le=1_000_000, description="rows in one page, at most")
    max_subscriptions: int = Field(default=64, ge=1, le=10_000, description="subscriptions on one socket, at most")
    max_sockets: int = Field(default=5_000, ge=1, le=1_000_000, description="sockets open at once, at most")
    max_queries: int = Field(
        default=300, ge=1, le=1_000_000, description="different sorts and filters that viewers follow at once"
    )
    max_views: int = Field(
        default=1_000,
        ge=1,
        le=1_000_000,
        description="different views (columns, sort, filter, offset, limit) that viewers follow at once",
    )
    query_timeout_s: float = Field(
        default=10.0, ge=0.1, le=3600, description="a sort, filter or page that takes longer is stopped"
    )
    max_memory_mb: int | None = Field(
        default=None, ge=1, description="memory for tables; a generation that would not fit is not built"
    )
    tls: Tls | None = Field(default=None, description="certificate and key, for https and wss")

    @model_validator(mode="after")
    def _needs_a_token(self) -> Self:
        if self.token is None and not is_loopback(self.host):
            advice = "set EVERTABLE_TOKEN (or server.token), or listen on 127.0.0.1"
            what = f"{self.host} needs a token, or anyone who can connect could read; {advice}"
            raise invalid([Problem(("host",), what)])
        return self
