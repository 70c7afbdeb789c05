"""Frames of a server, for tests without one."""

from __future__ import annotations

from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.protocol.page import PageRows, Row, page_tail
from evertable.schema.columns import Column, ColumnType

COLUMNS = tuple(
    Column(name, ColumnType.parse(type_))
    for name, type_ in {"name": "string", "sum": "decimal(9,2)", "at": "timestamp"}.items()
)
ADA = ("Ada", "1.50", "2026-11-15T20:07:28.000000Z")
BOB = ("Bob", None, None)


def frame(kind: str, tail: bytes, tag: int = 1, id_: str = "watch") -> bytes:
    return answers.prefix(kind, id_, tag) + tail


BEGIN = Stamp(1, 1, 1)


def page_frame(*rows: Row, at: Stamp = BEGIN, tag: int = 1, id_: str = "watch", total: int = 2) -> bytes:
    tail = page_tail("t", at, total, 0, COLUMNS, PageRows.of(range(len(rows)), rows).json, ())
    return frame("page", tail, tag, id_)
