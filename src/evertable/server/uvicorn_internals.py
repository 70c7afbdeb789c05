"""Everything that relies on non-public parts of uvicorn, h11 and websockets.

``tests/server/test_uvicorn_internals.py`` names each of them, and fails first when an upgrade changes one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Generator
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.datastructures import Headers
from websockets.exceptions import InvalidState
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import StatusLike

from evertable.server.bad_requests import STATE
from evertable.server.middleware import HEADERS
from evertable.server.refusals import response_to
from evertable.server.security import Refusal
from evertable.server.socket import CLOSE_S, EXTENSION

HEAD_S = 20.0
"""A connection has so long to send the head of a request, from its start or from the last answer; then it is cut."""

FALSE_ALARMS = frozenset(
    {
        "ASGI callable returned without completing handshake.",  # a WebSocket was refused, with an HTTP answer
        "Invalid UTF-8 sequence received from client.",  # the client gets close code 1007
        "Invalid HTTP request received.",  # BadRequests counts and summarises these two
        "opening handshake failed",
    }
)
"""Mistakes of clients that uvicorn and websockets log as errors, so that any client could fill the log."""

_LARGE = 1 << 16  # bytes; copying so many takes longer than a second write

_MALFORMED = bytes(
    response_to(Refusal(400, "HANDSHAKE_INVALID", "This is not a valid WebSocket handshake (RFC 6455).")).body
).decode()
_TEXT = 0x81  # a text frame that is not continued; a server's frames are not masked (RFC 6455)


class UvicornServer(uvicorn.Server):
    """uvicorn without signal handlers and exits, which belong to the owner, and with connections that end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()
        logging.getLogger("uvicorn.error").addFilter(_is_no_false_alarm)

    async def run_until_stopped(self, sockets: list[socket.socket]) -> None:
        try:
            await self.serve(sockets)
        except SystemExit:
            raise RuntimeError("The server did not start; see the log.") from None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=1)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _is_no_false_alarm(record: logging.LogRecord) -> bool:
    return record.msg not in FALSE_ALARMS


class HttpProtocol(H11Protocol):
    """Cuts connections that send no request; uvicorn limits only the pauses between two complete ones."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's signature
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.scope
        super().handle_events()
        if self.scope is not before:
            self._cancel_deadline()

    def on_response_complete(self) -> None:
        self._start_deadline()
        super().on_response_complete()  # handles the next request if it has arrived

    def send_400_response(self, msg: str) -> None:
        """Refuses data that is not HTTP, also inside a body, while the application may be sending an answer."""
        self.app_state[STATE].junk_connection(self.client)
        if self.cycle is not None:
            self.cycle.disconnected = True  # or h11 would raise when the application sends
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Logs nothing: RFC 9110 lets a server ignore an upgrade, such as an offer of HTTP/2."""

    def _start_deadline(self) -> None:
        self._cancel_deadline()
        if not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEAD_S, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Handshake(ServerProtocol):
    """A handshake that leaves subprotocols to the middleware, and whose refusals repeat nothing of the request."""

    def process_subprotocol(self, headers: Headers) -> None:  # noqa: ARG002 - websockets' signature
        return None

    def reject(self, status: StatusLike, text: str) -> Response:  # noqa: ARG002 - the text quotes the request's headers
        response = super().reject(status, _MALFORMED)
        del response.headers["Content-Type"]  # or there would be two
        response.headers.update({"Content-Type": "application/json", **HEADERS})
        return response


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """Offers itself as a ``FrameWriter``, and cuts connections whose viewer does not take their end."""

    _pong = b""
    _cut: asyncio.TimerHandle | None = None

    def __init__(self, config: uvicorn.Config, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)
        self.conn = Handshake(max_size=config.ws_max_size, logger=self.logger)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if self.close_sent:
            self.app_state[STATE].junk_connection(self.client)
        else:
            extensions = self.scope["extensions"]
            extensions[EXTENSION] = self  # type: ignore[assignment]  # an object, where ASGI has a mapping

    async def drain(self) -> None:
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        head = frame_head(len(start) + len(rest))
        if len(rest) < _LARGE:
            self.transport.write(head + start + rest)
        else:
            self.transport.write(head + start)
            self.transport.write(rest)

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except InvalidState:  # the viewer's data needs a close frame as its answer, and one was sent before
            self.transport.abort()
        if self.conn.handshake_exc is not None and not self.handshake_initiated:  # uvicorn would wait without end
            self.app_state[STATE].junk_connection(self.client)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def handle_ping(self) -> None:
        """Answers only the last pings of a viewer that takes nothing (RFC 6455, 5.5.3)."""
        self._pong = b"".join(self.conn.data_to_send()) or self._pong  # the answers to all pings of one read
        if self.writable.is_set():
            self._send_pong()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._send_pong()

    def _send_pong(self) -> None:
        if self._pong and not self.close_sent:
            self.transport.write(self._pong)
        self._pong = b""

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._cut_soon()

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self._cut_soon()

    def _cut_soon(self) -> None:
        """Limits how long the end of a connection may take; asyncio would wait until all is written."""
        if not self.disconnected and self._cut is None:
            self._cut = self.loop.call_later(CLOSE_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._cut is not None:
            self._cut.cancel()
        super().connection_lost(exc)


def frame_head(length: int) -> bytes:
    """Returns the head of a text frame with so many bytes, as short as RFC 6455 allows."""
    if length < 126:
        return bytes((_TEXT, length))
    if length < 1 << 16:
        return bytes((_TEXT, 126)) + length.to_bytes(2, "big")
    return bytes((_TEXT, 127)) + length.to_bytes(8, "big")
