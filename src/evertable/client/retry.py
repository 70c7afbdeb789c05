"""Decides which failures are retried, and explains the others."""

from __future__ import annotations

import ssl

from websockets.exceptions import InvalidStatus, WebSocketException

from evertable.client.errors import ServerUnreachableError, http_error
from evertable.client.receiver import ProtocolError

_RETRIED_STATUSES = frozenset({408, 425, 429})  # any other status of 400 to 499 is permanent


def permanent_failure(error: Exception, address: str, *, reached: bool) -> Exception | None:
    """Returns the error to raise if a retry cannot help; None if the failure may be temporary.

    A server that was never ``reached`` is probably not running, so that is reported instead of retried.
    """
    match error:
        case InvalidStatus(response=response) if 400 <= response.status_code < 500:
            if response.status_code not in _RETRIED_STATUSES:
                return http_error(response.status_code, bytes(response.body or b""), address)
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
