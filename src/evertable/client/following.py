"""One subscription's page, put together from the frames of one socket after the other; knows no socket itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from evertable.client.errors import refusal
from evertable.protocol.answers import Stamp
from evertable.protocol.decoding import from_json, rows_from_json
from evertable.protocol.frames import Ping, Subscribe, encode
from evertable.protocol.page import Page
from evertable.protocol.patch import Patch, apply
from evertable.schema.columns import Column, ColumnType
from evertable.views.view import View

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""What comes of reading a frame that is not what it should be; a bad decimal is an ArithmeticError."""

_ID = "watch"


class ProtocolError(Exception):
    """A frame that cannot follow on what came before: this socket is of no more use, a new one starts afresh."""


class Following:
    """Takes frames and gives whole pages. ``page`` is the newest; it stays while a new socket is fetched."""

    def __init__(self, table: str, view: View) -> None:
        self.page: Page | None = None
        self._table = table
        self._view = view
        self._tag = 0
        self._on_socket: Stamp | None = None  # of the newest page on this socket; None before the first
        self._takers: Mapping[str, Callable[[dict[str, Any], Stamp], Page]] = {
            "page": lambda frame, stamp: page_from_json(frame),
            "patch": self._patched,
            "total": self._totalled,
        }

    def subscribe(self) -> str:
        """The first frame to send on a new socket."""
        self._on_socket = None
        self._tag += 1
        return encode(Subscribe(_ID, self._table, self._tag, self._view))

    def ping(self) -> str:
        """A frame that the server answers."""
        return encode(Ping(self._tag))

    def receive(self, text: str | bytes) -> Page | None:
        """The new page, if this frame makes one. ServerRefusedError if the server refuses the subscription."""
        try:
            frame = orjson.loads(text)
            kind = frame["type"]
            if kind == "error" and (refused := self._mine(frame) and refusal(None, frame)):
                raise refused
            if kind not in self._takers or not self._mine(frame):
                return None  # welcome, pong, waiting, of another view, or newer than this client
            stamp = Stamp(frame["publication"], frame["version"], frame["generation"])
            if self._on_socket is not None and stamp < self._on_socket:
                return None
            self.page, self._on_socket = self._takers[kind](frame, stamp), stamp
        except UNREADABLE as error:
            raise ProtocolError(f"a frame that cannot be read: {error!r}") from error
        return self.page

    def _mine(self, frame: dict[str, Any]) -> bool:
        return bool(frame["id"] == _ID and frame["tag"] == self._tag)

    def _patched(self, frame: dict[str, Any], stamp: Stamp) -> Page:
        page = self._before(stamp)
        types = [column.type for column in page.columns]
        splice = [(at, drop, rows_from_json(page.columns, rows)) for at, drop, rows in frame.get("splice", ())]
        cells = [(row, column, from_json(types[column], value)) for row, column, value in frame.get("cells", ())]
        rows = tuple(apply(page.rows, Patch(splice, cells)))
        return replace(page, version=stamp.version, total=frame["total"], offset=frame["offset"], rows=rows)

    def _totalled(self, frame: dict[str, Any], stamp: Stamp) -> Page:
        return replace(self._before(stamp), version=stamp.version, total=frame["total"])

    def _before(self, stamp: Stamp) -> Page:
        """The page that a patch or total goes on from, which must have come on this socket."""
        if self.page is None or self._on_socket is None:
            raise ProtocolError("a change before any page")
        if (stamp.generation, stamp.publication) != (self.page.generation, self.page.publication):
            raise ProtocolError("a change of another generation than the page's")
        return self.page


def page_from_json(frame: dict[str, Any]) -> Page:
    """The page that a frame or an answer of REST holds; raises one of UNREADABLE if it is none."""
    columns = tuple(Column(column["name"], ColumnType.parse(column["type"])) for column in frame["columns"])
    return Page(
        frame["table"],
        frame["generation"],
        frame["publication"],
        frame["version"],
        frame["total"],
        frame["offset"],
        columns,
        tuple(rows_from_json(columns, frame["rows"])),
        tuple(frame.get("missing", ())),
    )
