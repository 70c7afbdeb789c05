"""Parses what clients send, strictly; defines limits and close codes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, Final

import orjson

from evertable.views.view import View

SUBPROTOCOL: Final = "evertable.v1"
BEARER: Final = "bearer."
"""The prefix of the subprotocol that carries a browser's token."""

MAX_FRAME_BYTES: Final = 65_536
MAX_FILTER_CHARS: Final = 2_000
MAX_ID_CHARS: Final = 64
MAX_INTEGER: Final = 2**53 - 1  # the largest integer that JavaScript holds exactly; no counter reaches it
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
    """The limits of each socket, which the ``welcome`` frame contains."""

    page: int = 10_000
    subscriptions: int = 64
    frame_bytes: int = MAX_FRAME_BYTES
    filter_chars: int = MAX_FILTER_CHARS


class BadFrameError(Exception):
    """A frame that violates the protocol; ``reason`` fits into a close frame with ``CloseCode.BAD_FRAME``."""

    def __init__(self, reason: str) -> None:
        self.reason = reason.encode("utf-8", "replace")[:MAX_REASON_BYTES].decode("utf-8", "ignore")
        super().__init__(self.reason)


DEFAULT_VIEW: Final = View()
"""The view of a request that names none."""


@dataclass(frozen=True)
class Subscribe:
    id: str
    table: str
    tag: int = 0
    view: View = DEFAULT_VIEW


@dataclass(frozen=True)
class ChangeView:
    id: str
    tag: int = 0
    view: View = DEFAULT_VIEW


@dataclass(frozen=True)
class Unsubscribe:
    id: str


@dataclass(frozen=True)
class Ping:
    tag: int = 0


Request = Subscribe | ChangeView | Unsubscribe | Ping


def parse(text: str) -> Request:
    """Parses a text frame to a request; raises BadFrameError with what is wrong with it."""
    try:
        frame = orjson.loads(text)
    except orjson.JSONDecodeError as error:  # also for unpaired surrogates and very deep nesting
        raise BadFrameError(f"not JSON: {error}") from None
    if type(frame) is not dict:
        raise BadFrameError("not an object")
    if "type" not in frame:
        raise BadFrameError("'type' is missing")
    request: Request  # what the requests do not take from the frame is unknown
    match kind := frame.pop("type"):
        case "subscribe":
            request = Subscribe(_id(frame), _text(frame, "table"), _integer(frame, "tag", 0), _view(frame))
        case "view":
            request = ChangeView(_id(frame), _integer(frame, "tag", 0), _view(frame))
        case "unsubscribe":
            request = Unsubscribe(_id(frame))
        case "ping":
            request = Ping(_integer(frame, "tag", 0))
        case _:
            raise BadFrameError(f"unknown type {_short_json(kind)}")
    if frame:
        raise BadFrameError(f"unknown field {_short_json(next(iter(frame)))} in {kind}")
    return request


def encode(request: Request) -> str:
    """Returns the text frame of a request, with every field."""
    frame = {"type": _TYPES[type(request)], **asdict(request)}
    if "view" in frame:
        frame["view"]["newestFirst"] = frame["view"].pop("newest_first")
    return orjson.dumps(frame).decode()


_TYPES = {Subscribe: "subscribe", ChangeView: "view", Unsubscribe: "unsubscribe", Ping: "ping"}


# Types are compared, because for isinstance a boolean is an integer.


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
        raise BadFrameError(f"unknown field {_short_json(next(iter(view)))} in view")
    return parsed


def _id(frame: dict[str, Any]) -> str:
    name = _text(frame, "id")
    if not 1 <= len(name) <= MAX_ID_CHARS:
        raise BadFrameError(f"'id' does not have 1 to {MAX_ID_CHARS} characters")
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


def _short_json(value: object) -> str:
    """Returns a value as JSON, cut so that a message has room for more."""
    text = orjson.dumps(value).decode()
    return text if len(text) <= 40 else f"{text[:39]}…"
