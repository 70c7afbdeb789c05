"""Access rules: which requests are allowed, decided by their headers alone.

- the token, if the server has one: as ``Authorization: Bearer``, or for WebSockets as the subprotocol ``bearer.…``;
- the ``Origin`` that browsers send: the server's own address, or one that ``server.origins`` lists;
- ``Sec-Fetch-Site``, if there is no ``Origin``: pages of other sites may link to the web page, but reach nothing else;
- the ``Host``, if the server has no token: loopback names only, or a web page could reach it by DNS rebinding.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlsplit

from pydantic import SecretStr

from evertable.config.server import is_loopback, origin
from evertable.errors import EvertableError
from evertable.protocol.frames import BEARER, SUBPROTOCOL

OPEN = ("/healthz", "/readyz")  # without a token, for monitoring
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})  # methods that change nothing

_NOT_FROM_ELSEWHERE = {"same-origin", "none"}  # values of Sec-Fetch-Site; "none" is a URL that a person entered
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:@/\s]+)(:(?P<port>\d{1,5}))?", re.IGNORECASE)
_OFFER = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]*=*")  # a token of RFC 9110; = is the padding of base64
_WRONG = "The token is wrong. Send the value that EVERTABLE_TOKEN or server.token had when the server started."
_DEFAULT_PORTS = {"http": "80", "https": "443"}


class Refusal(EvertableError):  # noqa: N818 - it is a response, not a failure
    """Why a request is refused, with the status and the headers of the response."""

    def __init__(self, status: int, condition: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.condition = condition  # type: ignore[misc] # one class for all of them
        self.status, self.headers = status, headers


@dataclass(frozen=True)
class RequestHead:
    """The part of a request that decides whether it is allowed. Header names are in lower case, as in ASGI."""

    path: str
    headers: Sequence[tuple[bytes, bytes]] = ()
    method: str = "GET"
    websocket: bool = False
    secure: bool = False
    """Whether it was sent over TLS."""

    def all(self, name: str) -> list[str]:
        return [value.decode("latin-1") for key, value in self.headers if key == name.encode()]

    def one(self, name: str) -> str | None:
        """The header's value; None if it is missing or there are several."""
        values = self.all(name)
        return values[0] if len(values) == 1 else None

    @property
    def to_loopback(self) -> bool:
        """Whether its ``Host`` is a loopback name."""
        parts = _HOST.fullmatch(self.one("host") or "")
        return parts is not None and is_loopback(parts["name"].strip("[]"))

    @property
    def referring_origin(self) -> str | None:
        """The origin of the page with the link or image, if the browser sends it."""
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


class AccessRules:
    """The access rules of one server. ``public`` paths need no token."""

    def __init__(self, token: SecretStr | None = None, origins: Iterable[str] = (), public: Iterable[str] = ()) -> None:
        self._token = None if token is None else token.get_secret_value().encode()
        self._origins = frozenset(origins)
        self._public = {*OPEN, *public}

    def refusal(self, request: RequestHead) -> Refusal | None:
        """Returns why a request is refused; None if it is allowed."""
        found = self._wrong_host(request) or self._wrong_origin(request) or _wrong_offers(request)
        if found is None and not request.is_preflight and not self._is_public(request):
            found = self._wrong_token(request)
        if found is None and request.websocket and SUBPROTOCOL not in request.subprotocols:
            found = Refusal(400, "SUBPROTOCOL_MISSING", f"Offer the subprotocol {SUBPROTOCOL}.")
        return found

    def allowed_origin(self, request: RequestHead) -> str | None:
        """Returns the request's origin if it is another site's that may read the response."""
        origin_sent = request.one("origin")
        return origin_sent if origin_sent in self._origins and not _is_own(origin_sent, request) else None

    def _is_public(self, request: RequestHead) -> bool:
        return request.method in SAFE and not request.websocket and request.path in self._public

    def _wrong_host(self, request: RequestHead) -> Refusal | None:
        if self._token is not None or request.to_loopback:
            return None
        message = "Without a token the server accepts only loopback names, such as localhost or 127.0.0.1, as Host."
        return Refusal(403, "HOST_NOT_ALLOWED", message)

    def _wrong_origin(self, request: RequestHead) -> Refusal | None:
        if request.all("origin"):
            origin_sent = request.one("origin")
        elif self._is_public(request) or set(request.all("sec-fetch-site")) <= _NOT_FROM_ELSEWHERE:
            return None
        else:  # browsers send no Origin with the GETs of links, images and scripts
            origin_sent = request.referring_origin if request.method in SAFE else None
        if origin_sent is not None and (origin_sent in self._origins or _is_own(origin_sent, request)):
            return None
        message = "The request comes from a page of another origin. Add its origin to server.origins to allow it."
        return Refusal(403, "ORIGIN_NOT_ALLOWED", message)

    def _wrong_token(self, request: RequestHead) -> Refusal | None:
        if self._token is None:
            return None
        shown = [
            (value[7:].strip(" ").encode("latin-1"), self._token)
            for value in request.all("authorization")
            if value[:7].lower() == "bearer "
        ]
        if request.websocket:
            wanted = urlsafe_b64encode(self._token).rstrip(b"=")
            offers = (offer for offer in request.subprotocols if offer.startswith(BEARER))
            shown += [(offer.removeprefix(BEARER).encode("latin-1").rstrip(b"="), wanted) for offer in offers]
        challenge = {"WWW-Authenticate": "Bearer"}
        if not shown:
            return Refusal(401, "TOKEN_MISSING", "Send the token as 'Authorization: Bearer <token>'.", challenge)
        if len(shown) > 1 or not _equal(*shown[0]):
            return Refusal(401, "TOKEN_WRONG", _WRONG, challenge)
        return None


def _wrong_offers(request: RequestHead) -> Refusal | None:
    """Refuses malformed subprotocols; the message must not repeat the header, which may hold the token."""
    if not request.websocket or all(_OFFER.fullmatch(offer) for offer in request.subprotocols):
        return None
    message = (
        "Sec-WebSocket-Protocol is malformed. Send names separated by commas, with the token encoded as base64url."
    )
    return Refusal(400, "SUBPROTOCOL_INVALID", message)


def _equal(shown: bytes, wanted: bytes) -> bool:
    """Compares in a time that reveals neither ``wanted`` nor its length."""
    return hmac.compare_digest(sha256(shown).digest(), sha256(wanted).digest())


def _is_own(origin_sent: str, request: RequestHead) -> bool:
    """Whether an origin is the address of the request; behind a TLS proxy, https is accepted too."""
    try:
        scheme, _, authority = origin(origin_sent).partition("://")
    except ValueError:
        return False
    parts = _HOST.fullmatch((request.one("host") or "").lower())
    if parts is None or (request.secure and scheme != "https"):
        return False
    port = parts["port"]
    return authority == parts["name"] + (f":{port}" if port not in (None, _DEFAULT_PORTS[scheme]) else "")
