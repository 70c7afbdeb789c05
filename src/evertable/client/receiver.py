"""Turns the frames of one subscription into pages, without a socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from evertable.client.errors import DECODE_ERRORS, parse_refusal
from evertable.protocol.answers import Stamp
from evertable.protocol.decoding import from_json, rows_from_json
from evertable.protocol.frames import Ping, Subscribe, encode
from evertable.protocol.page import Page
from evertable.protocol.patch import Patch, apply
from evertable.schema.columns import Column, ColumnType
from evertable.views.view import View

_ID = "watch"


class ProtocolError(Exception):
    """A frame that is malformed or out of order. The socket is of no more use; a new one starts over."""


class PageReceiver:
    """Applies frames to a page. ``page`` is the newest one; it stays while a new socket is opened."""

    def __init__(self, table: str, view: View) -> None:
        self.page: Page | None = None
        self._table = table
        self._view = view
        self._tag = 0
        self._newest: Stamp | None = None  # of the newest page on this socket; None before its first page
        self._handlers: Mapping[str, Callable[[dict[str, Any], Stamp], Page]] = {
            "page": lambda frame, stamp: page_from_json(frame),
            "patch": self._apply_patch,
            "total": self._apply_total,
        }

    def subscribe(self) -> str:
        """Returns the first frame to send on a new socket."""
        self._newest = None
        self._tag += 1
        return encode(Subscribe(_ID, self._table, self._tag, self._view))

    def ping(self) -> str:
        """Returns a frame that the server answers."""
        return encode(Ping(self._tag))

    def receive(self, text: str | bytes) -> Page | None:
        """Returns the new page if the frame changes it. ServerRefusedError if the server refuses the subscription."""
        try:
            frame = orjson.loads(text)
            kind = frame["type"]
            if kind == "error" and (refused := self._is_for_this_view(frame) and parse_refusal(None, frame)):
                raise refused
            if kind not in self._handlers or not self._is_for_this_view(frame):
                return None  # welcome, pong, waiting, another view, or a newer type of frame
            stamp = Stamp(frame["publication"], frame["version"], frame["generation"])
            if self._newest is not None and stamp < self._newest:
                return None
            self.page, self._newest = self._handlers[kind](frame, stamp), stamp
        except DECODE_ERRORS as error:
            raise ProtocolError(f"malformed frame: {error!r}") from error
        return self.page

    def _is_for_this_view(self, frame: dict[str, Any]) -> bool:
        return bool(frame["id"] == _ID and frame["tag"] == self._tag)

    def _apply_patch(self, frame: dict[str, Any], stamp: Stamp) -> Page:
        page = self._base_page(stamp)
        types = [column.type for column in page.columns]
        splice = [(at, drop, rows_from_json(page.columns, rows)) for at, drop, rows in frame.get("splice", ())]
        cells = [(row, column, from_json(types[column], value)) for row, column, value in frame.get("cells", ())]
        rows = tuple(apply(page.rows, Patch(splice, cells)))
        return replace(page, version=stamp.version, total=frame["total"], offset=frame["offset"], rows=rows)

    def _apply_total(self, frame: dict[str, Any], stamp: Stamp) -> Page:
        return replace(self._base_page(stamp), version=stamp.version, total=frame["total"])

    def _base_page(self, stamp: Stamp) -> Page:
        """Returns the page that a patch or a total changes; it must have arrived on this socket."""
        if self.page is None or self._newest is None:
            raise ProtocolError("a change before the first page")
        if (stamp.generation, stamp.publication) != (self.page.generation, self.page.publication):
            raise ProtocolError("a change for another generation than the page's")
        return self.page


def page_from_json(frame: dict[str, Any]) -> Page:
    """Decodes the page in a frame or in an answer of the REST API; raises one of DECODE_ERRORS if it is malformed."""
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
