"""Who may ask: decisions over a request's headers, without a socket.

- the token, if the server has one: as ``Authorization: Bearer``, or for WebSockets as the subprotocol ``bearer.…``;
- the ``Origin`` that browsers send: the server's own address, or one that ``server.origins`` lists;
- where there is none, ``Sec-Fetch-Site``: pages of other sites may link to the web page, and reach nothing else;
- the ``Host``, where there is no token: loopback names only, or a web page could reach the server by DNS rebinding.
"""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlsplit

from pydantic import SecretStr

from evertable.config.server import Server, is_loopback, origin
from evertable.errors import ConfigError
from evertable.protocol.frames import BEARER, SUBPROTOCOL

OPEN = ("/healthz", "/readyz")  # without a token: for what watches the process and knows no secrets
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})  # methods that change nothing

_NOT_FROM_ELSEWHERE = {"same-origin", "none"}  # values of Sec-Fetch-Site; "none" is an address that a person typed
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:@/\s]+)(:(?P<port>\d{1,5}))?", re.IGNORECASE)
_OFFER = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]*=*")  # a token of RFC 9110; = is the padding of base64
_WRONG = "The token is not the server's. Send what EVERTABLE_TOKEN or server.token was when the server was started."
_DEFAULT_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True)
class Refusal:
    """Why a request is not met; ``condition`` is stable, ``message`` is for people."""

    status: int
    condition: str
    message: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class RequestHead:
    """What a decision is made on. Header names are in lower case, as ASGI has them."""

    path: str
    headers: Sequence[tuple[bytes, bytes]] = ()
    method: str = "GET"
    websocket: bool = False
    secure: bool = False
    """Whether it came over TLS."""

    def all(self, name: str) -> list[str]:
        return [value.decode("latin-1") for key, value in self.headers if key == name.encode()]

    def one(self, name: str) -> str | None:
        """The header's value; None if it is missing or there are several."""
        values = self.all(name)
        return values[0] if len(values) == 1 else None

    @property
    def to_loopback(self) -> bool:
        """Whether it was sent to a name that can only mean this machine."""
        parts = _HOST.fullmatch(self.one("host") or "")
        return parts is not None and is_loopback(parts["name"].strip("[]"))

    @property
    def referring_origin(self) -> str | None:
        """The origin of the page that a link or an image is on, if its browser names it."""
        try:
            scheme, authority, *_ = urlsplit(self.one("referer") or "")
            return origin(f"{scheme}://{authority}")
        except ValueError:
            return None

    @property
    def subprotocols(self) -> list[str]:
        return [offer.strip() for value in self.all("sec-websocket-protocol") for offer in value.split(",")]

    @property
    def is_preflight(self) -> bool:
        return self.method == "OPTIONS" and bool(self.all("origin") and self.all("access-control-request-method"))


def make_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def check_exposure(settings: Server) -> None:
    """ConfigError if others than this machine could reach a server that asks for no token."""
    if settings.token is None and not is_loopback(settings.host):
        problem = f"server.host: {settings.host} needs a token, or anyone who can connect could read"
        raise ConfigError("The server does not start.", [problem], "Set EVERTABLE_TOKEN, or listen on 127.0.0.1.")


class AccessRules:
    """Who may ask, of one server. ``public`` are paths open to all; one that ends in ``/`` opens all below it."""

    def __init__(self, token: SecretStr | None = None, origins: Iterable[str] = (), public: Iterable[str] = ()) -> None:
        self._token = None if token is None else token.get_secret_value().encode()
        self._origins = frozenset(origins)
        self._public = (*OPEN, *public)

    def refusal(self, asked: RequestHead) -> Refusal | None:
        """Why this request is not let in; None if it is."""
        found = self._wrong_host(asked) or self._wrong_origin(asked) or _wrong_offers(asked)
        if found is None and not asked.is_preflight and not self._is_public(asked):
            found = self._wrong_token(asked)
        if found is None and asked.websocket and SUBPROTOCOL not in asked.subprotocols:
            found = Refusal(400, "SUBPROTOCOL_MISSING", f"Offer the subprotocol {SUBPROTOCOL}.")
        return found

    def foreign(self, asked: RequestHead) -> str | None:
        """The origin of a page from elsewhere that is allowed to read the answer."""
        came_from = asked.one("origin")
        return came_from if came_from in self._origins and not _is_own(came_from, asked) else None

    def _is_public(self, asked: RequestHead) -> bool:
        return (
            asked.method in SAFE
            and not asked.websocket
            and any(
                asked.path == path or (path.endswith("/") and path != "/" and asked.path.startswith(path))
                for path in self._public
            )
        )

    def _wrong_host(self, asked: RequestHead) -> Refusal | None:
        if self._token is not None or asked.to_loopback:
            return None
        message = "Without a token the server answers under loopback names only, such as localhost or 127.0.0.1."
        return Refusal(403, "HOST_NOT_ALLOWED", message)

    def _wrong_origin(self, asked: RequestHead) -> Refusal | None:
        if asked.all("origin"):
            came_from = asked.one("origin")
        elif self._is_public(asked) or set(asked.all("sec-fetch-site")) <= _NOT_FROM_ELSEWHERE:
            return None
        else:  # browsers send no Origin with the GETs of links, images and scripts
            came_from = asked.referring_origin if asked.method in SAFE else None
        if came_from is not None and (came_from in self._origins or _is_own(came_from, asked)):
            return None
        message = "The page that asks is neither the server's own nor of an origin that server.origins lists."
        return Refusal(403, "ORIGIN_NOT_ALLOWED", message)

    def _wrong_token(self, asked: RequestHead) -> Refusal | None:
        if self._token is None:
            return None
        shown = [
            (value[7:].strip(" ").encode("latin-1"), self._token)
            for value in asked.all("authorization")
            if value[:7].lower() == "bearer "
        ]
        if asked.websocket:
            wanted = urlsafe_b64encode(self._token).rstrip(b"=")
            offers = (offer for offer in asked.subprotocols if offer.startswith(BEARER))
            shown += [(offer.removeprefix(BEARER).encode("latin-1").rstrip(b"="), wanted) for offer in offers]
        challenge = (("WWW-Authenticate", "Bearer"),)
        if not shown:
            return Refusal(401, "TOKEN_MISSING", "Send the token as 'Authorization: Bearer <token>'.", challenge)
        if len(shown) > 1 or not _equal(*shown[0]):
            return Refusal(401, "TOKEN_WRONG", _WRONG, challenge)
        return None


def _wrong_offers(asked: RequestHead) -> Refusal | None:
    """The message must not repeat the header: it may hold the token."""
    if not asked.websocket or all(_OFFER.fullmatch(offer) for offer in asked.subprotocols):
        return None
    message = "Sec-WebSocket-Protocol is malformed. Send names with commas between them; a token goes in as base64url."
    return Refusal(400, "SUBPROTOCOL_INVALID", message)


def _equal(shown: bytes, wanted: bytes) -> bool:
    """In a time that tells nothing about ``wanted``, also not its length."""
    return hmac.compare_digest(sha256(shown).digest(), sha256(wanted).digest())


def _is_own(came_from: str, asked: RequestHead) -> bool:
    """Whether an origin is the address that was asked; behind a proxy for TLS, https counts too."""
    try:
        scheme, _, authority = origin(came_from).partition("://")
    except ValueError:
        return False
    parts = _HOST.fullmatch((asked.one("host") or "").lower())
    if parts is None or (asked.secure and scheme != "https"):
        return False
    port = parts["port"]
    return authority == parts["name"] + (f":{port}" if port not in (None, _DEFAULT_PORTS[scheme]) else "")
