"""Errors of the client, each with a condition and a next step.

EvertableError
├── ServerRefusedError        the server's own condition    a request that the server refuses
│   └── AccessDeniedError     TOKEN_MISSING, TOKEN_WRONG …  HTTP 401 and 403
├── ServerUnreachableError    SERVER_UNREACHABLE            no answer from the address, or a late one
├── ServerAnswerError         SERVER_ANSWER                 an answer that does not come from Evertable
├── SwapError                 SWAP_REJECTED, SWAP_FAILED …  a swap that did not become live
├── AddressError              ADDRESS_INVALID               an address or token that cannot be used
├── ClientClosedError         CLIENT_CLOSED                 a client or watch that is used after it was closed
├── OutputError               OUTPUT_FAILED                 a file that cannot be written
└── PandasMissingError        PANDAS_MISSING
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from evertable.errors import EvertableError

DECODE_ERRORS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""The errors that decoding malformed JSON raises; a bad decimal is an ArithmeticError."""
NOT_EVERTABLE = "Is this the address of an Evertable server?"
OTHER_VERSION = "Is it a newer version?"


class ServerRefusedError(EvertableError):
    """A request that the server refuses; ``condition`` is the server's, ``position`` the error's place in a filter."""

    condition = "SERVER_REFUSED"

    def __init__(self, condition: str, message: str, *, status: int | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.condition = condition  # type: ignore[misc] # a newer server may have conditions that this client lacks
        self.status = status
        self.position = position


class AccessDeniedError(ServerRefusedError):
    """A missing or wrong token, or a forbidden origin; a retry does not help."""


class ServerUnreachableError(EvertableError):
    condition = "SERVER_UNREACHABLE"


class ServerAnswerError(EvertableError):
    condition = "SERVER_ANSWER"


class SwapError(EvertableError):
    """A swap that is not live; ``result`` is one of docs/CONTROL.md, ``pending`` after a timeout."""

    condition = "SWAP_FAILED"

    def __init__(self, result: str, reason: str = "") -> None:
        what, next_step = _SWAPS.get(result, (f"The swap ended as '{result}'.", "evertable status shows what is live."))
        super().__init__(f"{what} {reason}".strip(), next_step)
        self.condition = f"SWAP_{result.upper()}"  # type: ignore[misc] # one per result
        self.result = result
        self.reason = reason


_SWAPS = {
    "rejected": ("Swap rejected; the wiring did not change.", "Correct the message, and swap again."),
    "failed": ("Swap failed; the wiring did not change.", "See the table orchestrator_logs."),
    "held": (
        "Swap held, because its result looks wrong; the wiring did not change.",
        "Compare the topic with the configuration, or swap with --force.",
    ),
    "superseded": (
        "A newer control message replaced the swap.",
        "evertable status shows what is live.",
    ),
    "pending": ("The swap is not live yet.", "It continues; evertable status --watch shows its progress."),
}


class AddressError(EvertableError):
    condition = "ADDRESS_INVALID"


class ClientClosedError(EvertableError):
    condition = "CLIENT_CLOSED"


class OutputError(EvertableError):
    condition = "OUTPUT_FAILED"


class PandasMissingError(EvertableError):
    condition = "PANDAS_MISSING"

    def __init__(self) -> None:
        super().__init__("pandas is not installed.", "Run: pip install 'evertable[pandas]'")


_TOKENS = {  # the server's own messages address programs that speak HTTP
    "TOKEN_MISSING": "The server requires a token. Set EVERTABLE_TOKEN, or name a file that holds it (--token-file).",
    "TOKEN_WRONG": "The token is wrong. Correct EVERTABLE_TOKEN, or the file that --token-file names.",
}


def json_or_none(body: bytes) -> Any:
    """Decodes an answer's body; None if it is not JSON."""
    try:
        return orjson.loads(body)
    except ValueError:
        return None


def parse_refusal(status: int | None, body: object) -> ServerRefusedError | None:
    """Returns the error for a body with ``condition`` and ``message``; None for any other body."""
    if not isinstance(body, dict) or not isinstance(body.get("condition"), str):
        return None
    position = body.get("position")
    make = AccessDeniedError if status in (401, 403) else ServerRefusedError
    return make(
        body["condition"],
        _TOKENS.get(body["condition"], str(body.get("message", ""))),
        status=status,
        position=position if isinstance(position, int) else None,
    )


@contextmanager
def decoding() -> Iterator[None]:
    """Reports a malformed answer of the server as ServerAnswerError."""
    try:
        yield
    except DECODE_ERRORS as error:
        raise ServerAnswerError(f"The server's answer is malformed: {error!r}.", OTHER_VERSION) from None


def http_error(status: int, body: bytes, address: str) -> EvertableError:
    """Returns the error for an HTTP status of 400 or more, whether Evertable or another program sent it."""
    if found := parse_refusal(status, json_or_none(body)):
        return found
    if status in (401, 403):
        return AccessDeniedError("ACCESS_DENIED", f"{address} answered {status}.", status=status)
    return ServerAnswerError(f"{address} answered {status}.", NOT_EVERTABLE)
