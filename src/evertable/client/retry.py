"""Decides which failures are retried, and when a silent connection counts as dead."""

from __future__ import annotations

import ssl

import orjson
from websockets.exceptions import InvalidStatus, WebSocketException

from evertable.client.errors import ServerUnreachableError, http_error
from evertable.client.receiver import ProtocolError

FIRST_DELAY_S = 0.05
MOST_DELAY_S = 5.0

_RETRIED_STATUSES = frozenset({408, 425, 429})  # any other status of 400 to 499 is permanent


def permanent_failure(error: Exception, address: str, *, reached: bool) -> Exception | None:
    """Returns the error to raise if a retry cannot help; None if the failure may be temporary.

    A server that was never ``reached`` is probably not running, so that is reported instead of retried.
    """
    match error:
        case InvalidStatus(response=response) if 400 <= response.status_code < 500:
            if response.status_code not in _RETRIED_STATUSES:
                return http_error(response.status_code, _body(response.body), address)
        case ssl.SSLCertVerificationError():
            return unreachable_error(address, error)
        case InvalidStatus():
            pass  # a server that is full, or a proxy whose server is unreachable
        case OSError() | WebSocketException() | ProtocolError():
            if not reached:
                return unreachable_error(address, error)
        case _:
            return error
    return None


def unreachable_error(address: str, error: Exception) -> ServerUnreachableError:
    """Returns the error for a server that does not answer, with the reason and the next step."""
    match error:
        case ssl.SSLCertVerificationError():
            what = f"The certificate of {address} is not trusted: {error.verify_message}."
            return ServerUnreachableError(what, "Give the file to check it with (ca).")
        case ConnectionRefusedError():
            why = "the connection was refused"
        case TimeoutError():
            why = "it timed out"
        case _:
            why = str(error) or type(error).__name__
    return ServerUnreachableError(
        f"There is no answer from {address}: {why}.",
        "Start evertable serve there, or give the address that it printed (--url, EVERTABLE_URL).",
    )


def truncated_error(address: str, error: Exception) -> ServerUnreachableError:
    """Returns the error for an answer that ended early."""
    return ServerUnreachableError(f"The answer of {address} ended early: {error}.", "Try again; its log may say more.")


def _body(raw: bytes | bytearray | None) -> object:
    try:
        return orjson.loads(raw or b"")
    except ValueError:
        return None


class Heartbeat:
    """Schedules pings and detects a dead connection. Times are seconds of any clock."""

    def __init__(self, now: float, interval_s: float = 5.0, timeout_s: float = 12.0) -> None:
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._last_ping = self._last_frame = now

    def received(self, now: float) -> None:
        """Records a frame; any frame proves that the connection is alive."""
        self._last_frame = now

    def ping_sent(self, now: float) -> None:
        self._last_ping = now

    def is_ping_due(self, now: float) -> bool:
        """Returns whether to ping, which is also needed while frames arrive: the server expects pings."""
        return now >= self._last_ping + self._interval_s

    def is_dead(self, now: float) -> bool:
        return now >= self._last_frame + self._timeout_s

    def wait_s(self, now: float) -> float:
        """Returns how long to wait for a frame until a ping is due or the connection is dead."""
        return max(0.0, min(self._last_ping + self._interval_s, self._last_frame + self._timeout_s) - now)
