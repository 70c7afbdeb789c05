"""A short way from the server to the network: uvicorn's WebSocket protocol, with a door for frames.

A frame to a viewer is bytes that are ready to be sent. Through ASGI each one would be wrapped into a message, decoded,
encoded again and queued behind a wait; and it would have to be made before one knows that it can be sent. This way it
is made when the viewer can take it, and written as it is. Where the server is not ours, ASGI does the same, slower.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from starlette.types import Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.datastructures import Headers
from websockets.exceptions import InvalidState
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import StatusLike

from evertable.server.gate import HEADERS
from evertable.server.refusals import response_to
from evertable.server.security import Refusal
from evertable.server.strangers import report_junk

EXTENSION = "evertable.wire"

CLOSE_S = 5.0
"""For a viewer to take the end of a connection; then it is cut."""

_LARGE = 1 << 16  # bytes; copying so many takes longer than telling the system twice

_MALFORMED = bytes(
    response_to(Refusal(400, "HANDSHAKE_INVALID", "This is no valid WebSocket handshake (RFC 6455).")).body
).decode()
_TEXT = 0x81  # a text frame that is not continued; a server's frames are not masked (RFC 6455)


class Wire(Protocol):
    """Where frames go."""

    async def ready(self) -> None:
        """Returns when the viewer can take a frame; raises OSError if it is gone."""
        ...

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        """Sends a frame that is made of these two."""
        ...


class Handshake(ServerProtocol):
    """websockets' handshake; it leaves subprotocols to the gate, and its answers repeat nothing of a request."""

    def process_subprotocol(self, headers: Headers) -> None:  # noqa: ARG002 - websockets' signature
        return None

    def reject(self, status: StatusLike, text: str) -> Response:  # noqa: ARG002 - the text quotes the request's headers
        response = super().reject(status, _MALFORMED)
        del response.headers["Content-Type"]  # or there would be two
        response.headers.update({"Content-Type": "application/json", **HEADERS})
        return response


class WireProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol, which offers itself as a wire, and waits for no viewer that takes nothing."""

    _pong = b""
    _cut: asyncio.TimerHandle | None = None

    def __init__(self, config: Config, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, *args, **kwargs)
        self.conn = Handshake(max_size=config.ws_max_size, logger=self.logger)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if self.close_sent:
            report_junk(self.app_state, self.client)
        else:
            extensions = self.scope["extensions"]
            extensions[EXTENSION] = self  # type: ignore[assignment]  # an object, where ASGI has a mapping

    async def ready(self) -> None:
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        head = _head(len(start) + len(rest))
        if len(rest) < _LARGE:
            self.transport.write(head + start + rest)
        else:
            self.transport.write(head + start)
            self.transport.write(rest)

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except InvalidState:  # something that has to be answered with a close came before the viewer's own
            self.transport.abort()
        if self.conn.handshake_exc is not None and not self.handshake_initiated:  # uvicorn would wait for ever
            report_junk(self.app_state, self.client)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def handle_ping(self) -> None:
        """Of the pings of a viewer that takes nothing, only the last ones are answered (RFC 6455, 5.5.3)."""
        self._pong = b"".join(self.conn.data_to_send()) or self._pong  # the answers to all that came with it
        if self.writable.is_set():
            self._answer_ping()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._answer_ping()

    def _answer_ping(self) -> None:
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
        """asyncio closes a connection when all is written; a viewer that takes nothing would keep it for ever."""
        if not self.disconnected and self._cut is None:
            self._cut = self.loop.call_later(CLOSE_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._cut is not None:
            self._cut.cancel()
        super().connection_lost(exc)


class AsgiWire:
    """The way through ASGI."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def ready(self) -> None:
        pass

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        await self._send({"type": "websocket.send", "text": (start + rest).decode()})


def wire_of(scope: Scope, send: Send) -> Wire:
    """The shortest way that this connection has."""
    wire: Wire = scope.get("extensions", {}).get(EXTENSION) or AsgiWire(send)
    return wire


def _head(length: int) -> bytes:
    if length < 126:
        return bytes((_TEXT, length))
    if length < 1 << 16:
        return bytes((_TEXT, 126)) + length.to_bytes(2, "big")
    return bytes((_TEXT, 127)) + length.to_bytes(8, "big")
