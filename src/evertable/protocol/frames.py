"""Parses what clients send, strictly; defines limits and close codes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from evertable.views.view import MAX_FILTER_CHARS, Count, View

SUBPROTOCOL: Final = "evertable.v1"
BEARER: Final = "bearer."
"""The prefix of the subprotocol that carries a browser's token."""

MAX_FRAME_BYTES: Final = 65_536
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

Id = Annotated[str, Field(min_length=1, max_length=64)]
"""A client's name for a subscription."""


@dataclass(frozen=True)
class Subscribe:
    id: Id
    table: str
    tag: Count = 0
    view: View = DEFAULT_VIEW
    type: Literal["subscribe"] = "subscribe"


@dataclass(frozen=True)
class ChangeView:
    id: Id
    tag: Count = 0
    view: View = DEFAULT_VIEW
    type: Literal["view"] = "view"


@dataclass(frozen=True)
class Unsubscribe:
    id: Id
    type: Literal["unsubscribe"] = "unsubscribe"


@dataclass(frozen=True)
class Ping:
    tag: Count = 0
    type: Literal["ping"] = "ping"


Request = Subscribe | ChangeView | Unsubscribe | Ping

_REQUESTS: TypeAdapter[Request] = TypeAdapter(
    Annotated[Request, Field(discriminator="type")],
    config=ConfigDict(strict=True, extra="forbid", alias_generator=to_camel),
)


def parse(text: str) -> Request:
    """Parses a text frame to a request; raises BadFrameError with the first thing that is wrong with it."""
    try:
        return _REQUESTS.validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        is_unknown = problem["type"] == "unexpected_keyword_argument"
        field = ".".join(str(part) for part in problem["loc"][1:])  # without the type of request
        what = "Unknown field" if is_unknown else problem["msg"]
        raise BadFrameError(f"{field}: {what}" if field else what) from None


def encode(request: Request) -> str:
    """Returns the text frame of a request, with every field."""
    return _REQUESTS.dump_json(request, by_alias=True).decode()
