"""Viewers that are cheap enough for thousands of them in one process."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evertable.protocol.frames import SUBPROTOCOL

PARSE_EVERY = 50  # one patch in so many is parsed for the age of its changes
AT_ONCE = 50  # connections being made
MAX_FILES = 65_536
PING, PONG = 0x89, 0x8A

Wanted = tuple[str, dict[str, Any]]
"""A table's name and a view."""


@dataclass
class Seen:
    """What all viewers received."""

    frames: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    ages: list[float] = field(default_factory=list)
    """Seconds from a change to its arrival."""
    first_pages: list[float] = field(default_factory=list)
    """Seconds from connecting to the first page."""
    arrivals: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    """The arrivals of each subscription's first page, by publication."""
    lost: int = 0
    """Sockets that ended before their viewer left."""

    def clear(self) -> None:
        self.frames.clear()
        self.bytes = 0
        self.ages.clear()
        self.first_pages.clear()


class Viewer(asyncio.Protocol):
    """One socket with several subscriptions; it counts frames and parses some of them."""

    def __init__(self, host: str, wanted: Sequence[Wanted], seen: Seen) -> None:
        self._host, self._wanted, self._seen = host, wanted, seen
        self._buffer = bytearray()
        self._open = self._left = False
        self._publications = [0] * len(wanted)

    def connection_made(self, transport: Any) -> None:
        self._transport, self._came = transport, time.monotonic()
        transport.write(
            f"GET /ws HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n".encode()
        )

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._seen.lost += not self._left

    def leave(self) -> None:
        """Drops the socket without closing it, as a sleeping laptop does."""
        self._left = True
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._open:
            if (end := self._buffer.find(b"\r\n\r\n")) < 0:
                return
            if not self._buffer.startswith(b"HTTP/1.1 101"):
                raise RuntimeError(bytes(self._buffer).decode(errors="replace"))
            del self._buffer[: end + 4]
            self._open = True
            for number, (table, view) in enumerate(self._wanted):
                subscribe = {"type": "subscribe", "id": str(number), "table": table, "view": view}
                self._send(0x81, json.dumps(subscribe).encode())
        while (size := _frame_size(self._buffer)) is not None and len(self._buffer) >= sum(size):
            kind, frame = self._buffer[0], bytes(self._buffer[size[0] : sum(size)])
            del self._buffer[: sum(size)]
            if kind == PING:
                self._send(PONG, frame)
            else:
                self._take(frame)

    def _send(self, kind: int, body: bytes) -> None:
        """A frame with a mask of zeros."""
        size = bytes((0x80 | len(body),)) if len(body) < 126 else b"\xfe" + len(body).to_bytes(2)
        self._transport.write(bytes((kind,)) + size + bytes(4) + body)

    def _take(self, frame: bytes) -> None:
        seen, kind = self._seen, frame[9 : frame.index(b'"', 9)].decode()
        seen.frames[kind] += 1
        seen.bytes += len(frame)
        if kind == "page":
            self._take_page(frame)
        elif kind == "patch" and seen.frames["patch"] % PARSE_EVERY == 0:
            seen.ages += _age(json.loads(frame))
        elif kind == "error":
            raise RuntimeError(frame.decode())

    def _take_page(self, frame: bytes) -> None:
        number = frame[21] - ord("0")  # {"type":"page","id":"0", …
        at = frame.index(b'"publication":') + len(b'"publication":')
        publication = int(frame[at : frame.index(b",", at)])
        before, self._publications[number] = self._publications[number], publication
        if publication > before:
            self._seen.arrivals[publication].append(time.monotonic())
        if not before:
            self._seen.first_pages.append(time.monotonic() - self._came)


def _age(patch: dict[str, Any]) -> list[float]:
    """Returns the age of the newest balance in a patch, which is the time of its account."""
    now = time.time()
    values = [value for _, _, value in patch.get("cells", ())]
    values += [value for _, _, rows in patch.get("splice", ()) for row in rows for value in row]
    born = [value for value in values if isinstance(value, float) and now - 60 < value]
    return [now - max(born)] if born else []


def _frame_size(buffer: bytearray) -> tuple[int, int] | None:
    """Returns the bytes of head and body, None while they are unknown."""
    if len(buffer) < 2:
        return None
    short = buffer[1]
    if short < 126:
        return 2, short
    head = 4 if short == 126 else 10
    return (head, int.from_bytes(buffer[2:head])) if len(buffer) >= head else None


async def connect(url: str, wanted: Sequence[Sequence[Wanted]], seen: Seen) -> list[Viewer]:
    """Connects a viewer for each entry."""
    host, port = url.removeprefix("http://").split(":")
    loop = asyncio.get_running_loop()
    made: list[Viewer] = []
    for start in range(0, len(wanted), AT_ONCE):
        connecting = [
            loop.create_connection(lambda each=each: Viewer(host, each, seen), host, int(port))  # type: ignore[misc]
            for each in wanted[start : start + AT_ONCE]
        ]
        made += [viewer for _, viewer in await asyncio.gather(*connecting)]
    return made


def allow_many_files() -> None:
    """Raises the limit of open files as far as this user may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
