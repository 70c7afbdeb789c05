"""Middleware in front of all addresses: refuses requests by the access rules, and adds headers to all responses."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evertable.server.bad_requests import BadRequests
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
"""Headers of every response."""

HSTS = "max-age=31536000"

_STARTS = ("http.response.start", "websocket.http.response.start")


class AccessMiddleware:
    """ASGI middleware around ``app``, for HTTP and for WebSockets before they are accepted."""

    def __init__(self, app: ASGIApp, rules: AccessRules, bad_requests: BadRequests) -> None:
        self._app = app
        self._rules = rules
        self._bad_requests = bad_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        request = RequestHead(
            path=scope["path"],
            headers=scope["headers"],
            method=scope.get("method", "GET"),
            websocket=scope["type"] == "websocket",
            secure=scope["scheme"] in ("https", "wss"),
        )
        sending = self._with_headers(request, send)
        if refusal := self._rules.refusal(request):
            if refusal.condition == "TOKEN_WRONG":
                await self._bad_requests.wrong_token(scope.get("client"))
            await response_to(refusal)(scope, receive, sending)
        elif request.is_preflight:
            await _PREFLIGHT(scope, receive, sending)
        else:
            await self._app(scope, receive, sending)

    def _with_headers(self, request: RequestHead, send: Send) -> Send:
        allowed_origin = self._rules.allowed_origin(request)

        async def send_with_headers(message: Message) -> None:
            if message["type"] in _STARTS:
                headers = MutableHeaders(raw=list(message.get("headers", ())))
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # the web page has its own policy
                if request.path.startswith("/api/"):
                    headers["Cache-Control"] = "no-store"
                if request.secure and not request.to_loopback:  # browsers would apply it to other ports of localhost
                    headers["Strict-Transport-Security"] = HSTS
                if allowed_origin is not None:
                    headers["Access-Control-Allow-Origin"] = allowed_origin
                    headers["Access-Control-Expose-Headers"] = "Content-Disposition, Retry-After"
                    headers.add_vary_header("Origin")
                message = {**message, "headers": headers.raw}
            await send(message)

        return send_with_headers


_PREFLIGHT = Response(
    status_code=204,
    headers={
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Authorization, Content-Type",
        "Access-Control-Max-Age": "600",
    },
)
