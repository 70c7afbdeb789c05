"""Sends frames to a viewer: straight to its connection, or through ASGI where the server is another one.

A frame is bytes that are ready to be sent. Through ASGI each one would be wrapped into a message, decoded, encoded
again and queued; and it would have to be built before the viewer can take it. A server that offers ``EXTENSION`` lets
the socket wait until the viewer can take a frame, and writes it as it is.
"""

from __future__ import annotations

from typing import Protocol

from starlette.types import Scope, Send

EXTENSION = "evertable.wire"

CLOSE_S = 5.0
"""A viewer has so long to take the end of a connection; then it is cut."""


class FrameWriter(Protocol):
    """Sends the frames of one connection."""

    async def drain(self) -> None:
        """Returns when the viewer can take a frame; raises OSError if it is gone."""
        ...

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        """Sends a frame that consists of these two parts."""
        ...


class AsgiFrameWriter:
    """Sends frames through ASGI."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def drain(self) -> None:
        pass

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        await self._send({"type": "websocket.send", "text": (start + rest).decode()})


def frame_writer(scope: Scope, send: Send) -> FrameWriter:
    """Returns the connection's own writer if the server offers one."""
    writer: FrameWriter = scope.get("extensions", {}).get(EXTENSION) or AsgiFrameWriter(send)
    return writer
