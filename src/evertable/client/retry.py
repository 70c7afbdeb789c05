"""Which failures pass, and how a dead connection is told from a quiet one."""

from __future__ import annotations

import ssl

import orjson
from websockets.exceptions import InvalidStatus, WebSocketException

from evertable.client.errors import ServerUnreachableError, refused_with
from evertable.client.following import ProtocolError

FIRST_DELAY_S = 0.05
MOST_DELAY_S = 5.0

_PASSING_STATUSES = frozenset({408, 425, 429})  # all others of 400 to 499 are meant


def final(error: Exception, address: str, *, reached: bool) -> Exception | None:
    """What to tell the caller if trying again is of no use; None if the failure may pass.

    Who was never ``reached`` is probably not there: better to say so than to wait for it.
    """
    match error:
        case InvalidStatus(response=response) if 400 <= response.status_code < 500:
            if response.status_code not in _PASSING_STATUSES:
                return refused_with(response.status_code, _body(response.body), address)
        case ssl.SSLCertVerificationError():
            return unreachable(address, error)
        case InvalidStatus():
            pass  # a server that is full, or a proxy whose server is away
        case OSError() | WebSocketException() | ProtocolError():
            if not reached:
                return unreachable(address, error)
        case _:
            return error
    return None


def unreachable(address: str, error: Exception) -> ServerUnreachableError:
    """That nobody answers, why, and what to do about it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        what = f"The certificate of {address} is not trusted: {error.verify_message}."
        return ServerUnreachableError(what, "Give the file that it can be checked with (ca).")
    match error:
        case ConnectionRefusedError():
            why = "nobody listens there"
        case TimeoutError():
            why = "not in time"
        case _:
            why = str(error) or type(error).__name__
    what = f"There is no answer from {address}: {why}."
    return ServerUnreachableError(
        what, "Start evertable serve there, or give the address that it printed (--url, EVERTABLE_URL)."
    )


def broken_off(address: str, error: Exception) -> ServerUnreachableError:
    """That an answer ended before its end."""
    return ServerUnreachableError(f"{address} broke off its answer: {error}.", "Try again; its log may say more.")


def _body(raw: bytes | bytearray | None) -> object:
    try:
        return orjson.loads(raw or b"")
    except ValueError:
        return None


class Heartbeat:
    """When to ping, and when silence means that the other side is gone. Times are of any clock, in seconds."""

    def __init__(self, now: float, interval_s: float = 5.0, patience_s: float = 12.0) -> None:
        self._interval_s = interval_s
        self._patience_s = patience_s
        self._pinged = self._heard = now

    def heard(self, now: float) -> None:
        """Something has come; anything is a sign of life."""
        self._heard = now

    def pinged(self, now: float) -> None:
        self._pinged = now

    def is_due(self, now: float) -> bool:
        """Whether to ping: also while frames keep coming, for the server wants signs of life, too."""
        return now >= self._pinged + self._interval_s

    def is_dead(self, now: float) -> bool:
        return now >= self._heard + self._patience_s

    def wait_s(self, now: float) -> float:
        """How long to listen until one of these may have become so."""
        return max(0.0, min(self._pinged + self._interval_s, self._heard + self._patience_s) - now)
