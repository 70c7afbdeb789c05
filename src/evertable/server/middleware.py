"""The gate: in front of everything the server offers, it lets requests in or not, and dresses the answers."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evertable.server.bad_requests import UNKNOWN, WrongTokens
from evertable.server.refusals import response_to
from evertable.server.security import AccessRules, RequestHead

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}
"""On every answer."""

HSTS = "max-age=31536000"

_STARTS = ("http.response.start", "websocket.http.response.start")


class AccessMiddleware:
    """ASGI middleware around ``app``, for HTTP and for WebSockets before they are accepted."""

    def __init__(self, app: ASGIApp, rules: AccessRules, wrong_tokens: WrongTokens) -> None:
        self._app = app
        self._rules = rules
        self._wrong_tokens = wrong_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        asked = RequestHead(
            path=scope["path"],
            headers=scope["headers"],
            method=scope.get("method", "GET"),
            websocket=scope["type"] == "websocket",
            secure=scope["scheme"] in ("https", "wss"),
        )
        dressed = self._dressing(asked, send)
        if refusal := self._rules.refusal(asked):
            if refusal.condition == "TOKEN_WRONG":
                await self._wrong_tokens.seen(scope["client"][0] if scope.get("client") else UNKNOWN)
            await response_to(refusal)(scope, receive, dressed)
        elif asked.is_preflight:
            await _PREFLIGHT(scope, receive, dressed)
        else:
            await self._app(scope, receive, dressed)

    def _dressing(self, asked: RequestHead, send: Send) -> Send:
        foreign = self._rules.foreign(asked)

        async def dressed(message: Message) -> None:
            if message["type"] in _STARTS:
                headers = MutableHeaders(raw=list(message.get("headers", ())))
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # the page brings a policy of its own
                if asked.path.startswith("/api/"):
                    headers["Cache-Control"] = "no-store"
                if asked.secure and not asked.to_loopback:  # browsers would hold other ports of localhost to it
                    headers["Strict-Transport-Security"] = HSTS
                if foreign is not None:
                    headers["Access-Control-Allow-Origin"] = foreign
                    headers["Access-Control-Expose-Headers"] = "Content-Disposition, Retry-After"
                    headers.add_vary_header("Origin")
                message = {**message, "headers": headers.raw}
            await send(message)

        return dressed


_PREFLIGHT = Response(
    status_code=204,
    headers={
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Authorization, Content-Type",
        "Access-Control-Max-Age": "600",
    },
)
