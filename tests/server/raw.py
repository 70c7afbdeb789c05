"""A hand-written WebSocket, for half frames, floods, and clients that do not read."""

from __future__ import annotations

import json
import socket
import ssl
import struct
from typing import Any, Self

HEAD = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Protocol: evertable.v1\r\n\r\n"
)
TEXT, CLOSE, PING = 1, 8, 9


def framed(data: bytes, kind: int = TEXT) -> bytes:
    """Encodes a client's frame, masked with zeros."""
    size = len(data)
    if size < 126:
        head = bytes((0x80 | kind, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((0x80 | kind, 0x80 | 126)) + struct.pack("!H", size)
    else:
        head = bytes((0x80 | kind, 0x80 | 127)) + struct.pack("!Q", size)
    return head + bytes(4) + data


class RawSocket:
    """A socket that reads nothing by itself after the welcome."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None, timeout_s: float = 30) -> None:
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.settimeout(timeout_s)
        plain.connect(("127.0.0.1", port))
        self.socket = plain if context is None else context.wrap_socket(plain, server_hostname="localhost")
        self.socket.sendall(HEAD)
        seen = b""
        while b"filter_chars" not in seen:
            seen += self.socket.recv(1_000)
            assert seen.startswith(b"HTTP/1.1 101"[: len(seen)])

    def send(self, **frame: Any) -> None:
        self.socket.sendall(framed(json.dumps(frame).encode()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
