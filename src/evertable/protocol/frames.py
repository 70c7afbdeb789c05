"""What clients send: requests, parsed strictly, and the limits and close codes that hold for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import orjson

from evertable.views.view import View

SUBPROTOCOL: Final = "evertable.v1"
BEARER: Final = "bearer."
"""How the subprotocol begins that carries a browser's token."""

MAX_FRAME_BYTES: Final = 65_536
MAX_FILTER_CHARS: Final = 2_000
MAX_ID_CHARS: Final = 64
MAX_INTEGER: Final = 2**53 - 1  # the largest that JavaScript holds exactly, and all that is counted stays below
MAX_REASON_BYTES: Final = 123  # of a close frame, by RFC 6455


class CloseCode(IntEnum):
    CLIENT_CLOSED = 1000
    BINARY_FRAME = 1003
    NOT_UTF8 = 1007
    FRAME_TOO_LARGE = 1009
    SERVER_FAILED = 1011
    SERVER_STOPS = 1012
    BAD_FRAME = 4400


@dataclass(frozen=True)
class Limits:
    """What the server holds each socket to; ``welcome`` tells it."""

    page: int = 10_000
    subscriptions: int = 64
    frame_bytes: int = MAX_FRAME_BYTES
    filter_chars: int = MAX_FILTER_CHARS


class BadFrameError(Exception):
    """A frame that is none of the protocol's; ``reason`` fits into a close frame with ``CloseCode.BAD_FRAME``."""

    def __init__(self, reason: str) -> None:
        self.reason = reason.encode("utf-8", "replace")[:MAX_REASON_BYTES].decode("utf-8", "ignore")
        super().__init__(self.reason)


WHOLE: Final = View()
"""What a client looks at that says nothing else."""


@dataclass(frozen=True)
class Subscribe:
    id: str
    table: str
    tag: int = 0
    view: View = WHOLE


@dataclass(frozen=True)
class ChangeView:
    id: str
    tag: int = 0
    view: View = WHOLE


@dataclass(frozen=True)
class Unsubscribe:
    id: str


@dataclass(frozen=True)
class Ping:
    tag: int = 0


Request = Subscribe | ChangeView | Unsubscribe | Ping


def parse(text: str) -> Request:
    """The request that a text frame holds. BadFrameError says what is wrong with it."""
    try:
        frame = orjson.loads(text)
    except orjson.JSONDecodeError as error:  # also for lone surrogates and for very deep nesting
        raise BadFrameError(f"not JSON: {error}") from None
    if type(frame) is not dict:
        raise BadFrameError("not an object")
    if "type" not in frame:
        raise BadFrameError("'type' is missing")
    kind = frame.pop("type")
    make = _REQUESTS.get(kind) if type(kind) is str else None
    if make is None:
        raise BadFrameError(f"unknown type {_shown(kind)}")
    request = make(frame)
    if frame:
        raise BadFrameError(f"unknown field {_shown(next(iter(frame)))} in {kind}")
    return request


def encode(request: Request) -> str:
    """The text frame for a request, every field written out."""
    frame: dict[str, Any]
    match request:
        case Subscribe(id=name, table=table, tag=tag, view=view):
            frame = {"type": "subscribe", "id": name, "table": table, "tag": tag, "view": _view_json(view)}
        case ChangeView(id=name, tag=tag, view=view):
            frame = {"type": "view", "id": name, "tag": tag, "view": _view_json(view)}
        case Unsubscribe(id=name):
            frame = {"type": "unsubscribe", "id": name}
        case Ping(tag=tag):
            frame = {"type": "ping", "tag": tag}
    return orjson.dumps(frame).decode()


# Each takes its fields out of the frame, so that what is left is unknown. Types are compared, not asked with
# isinstance: JSON gives exactly these, and to isinstance a boolean is an integer.


def _subscribe(frame: dict[str, Any]) -> Subscribe:
    return Subscribe(_id(frame), _text(frame, "table"), _integer(frame, "tag", 0), _view(frame))


def _change_view(frame: dict[str, Any]) -> ChangeView:
    return ChangeView(_id(frame), _integer(frame, "tag", 0), _view(frame))


def _unsubscribe(frame: dict[str, Any]) -> Unsubscribe:
    return Unsubscribe(_id(frame))


def _ping(frame: dict[str, Any]) -> Ping:
    return Ping(_integer(frame, "tag", 0))


_REQUESTS: Mapping[str, Callable[[dict[str, Any]], Request]] = {
    "subscribe": _subscribe,
    "view": _change_view,
    "unsubscribe": _unsubscribe,
    "ping": _ping,
}


def _view(frame: dict[str, Any]) -> View:
    view = frame.pop("view", {})
    if type(view) is not dict:
        raise BadFrameError("'view' is not an object")
    parsed = View(
        None if (columns := view.pop("columns", None)) is None else _names("columns", columns),
        _names("sort", view.pop("sort", [])),
        _text(view, "filter", ""),
        _integer(view, "offset", 0),
        _integer(view, "limit", 100),
        _boolean(view, "newestFirst", False),
    )
    if view:
        raise BadFrameError(f"unknown field {_shown(next(iter(view)))} in view")
    return parsed


def _view_json(view: View) -> dict[str, Any]:
    return {
        "columns": view.columns,
        "sort": view.sort,
        "filter": view.filter,
        "offset": view.offset,
        "limit": view.limit,
        "newestFirst": view.newest_first,
    }


def _id(frame: dict[str, Any]) -> str:
    name = _text(frame, "id")
    if not 1 <= len(name) <= MAX_ID_CHARS:
        raise BadFrameError(f"'id' has not 1 to {MAX_ID_CHARS} characters")
    return name


def _text(frame: dict[str, Any], field: str, default: str | None = None) -> str:
    text = frame.pop(field, default)
    if type(text) is str:
        return text
    raise BadFrameError(f"'{field}' is missing" if text is default else f"'{field}' is not a string")


def _integer(frame: dict[str, Any], field: str, default: int) -> int:
    number = frame.pop(field, default)
    if type(number) is int and 0 <= number <= MAX_INTEGER:
        return number
    raise BadFrameError(f"'{field}' is not an integer from 0 to 2^53-1")


def _boolean(frame: dict[str, Any], field: str, default: bool) -> bool:
    truth = frame.pop(field, default)
    if type(truth) is bool:
        return truth
    raise BadFrameError(f"'{field}' is not a boolean")


def _names(field: str, names: object) -> tuple[str, ...]:
    if type(names) is list and all(type(name) is str for name in names):
        return tuple(names)
    raise BadFrameError(f"'{field}' is not an array of names")


def _shown(value: object) -> str:
    """As JSON, and short enough to leave room for what follows."""
    text = orjson.dumps(value).decode()
    return text if len(text) <= 40 else f"{text[:39]}…"
