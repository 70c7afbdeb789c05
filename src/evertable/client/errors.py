"""What can go wrong between a client and its server, each with a condition and a next step.

EvertableError
├── ServerRefusedError        the server's own condition    a request that it does not meet
│   └── AccessDeniedError     TOKEN_MISSING, TOKEN_WRONG …  HTTP 401 and 403
├── ServerUnreachableError    SERVER_UNREACHABLE            nobody answers at the address, or too late
├── ServerAnswerError         SERVER_ANSWER                 an answer that is not Evertable's
├── SwapError                 SWAP_REJECTED, SWAP_FAILED …  a swap that did not become live
├── AddressError              ADDRESS_INVALID               an address or token that cannot be used
├── ClientClosedError         CLIENT_CLOSED                 a client that is used after its end
├── OutputError               OUTPUT_FAILED                 a file that cannot be written
└── PandasMissingError        PANDAS_MISSING
"""

from __future__ import annotations

from evertable.errors import EvertableError


class ServerRefusedError(EvertableError):
    """What the server says it cannot do; ``condition`` is its condition, ``position`` where a filter is wrong."""

    condition = "SERVER_REFUSED"

    def __init__(self, condition: str, message: str, *, status: int | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.condition = condition  # type: ignore[misc] # each server may know conditions that this client does not
        self.status = status
        self.position = position


class AccessDeniedError(ServerRefusedError):
    """A token that is missing or wrong, or a place from which nobody may ask; trying again does not help."""


class ServerUnreachableError(EvertableError):
    condition = "SERVER_UNREACHABLE"


class ServerAnswerError(EvertableError):
    condition = "SERVER_ANSWER"


class SwapError(EvertableError):
    """What was asked for is not live, and why; ``result`` is that of docs/CONTROL.md, ``pending`` if time ran out."""

    condition = "SWAP_FAILED"

    def __init__(self, result: str, reason: str = "") -> None:
        what, next_step = _SWAPS.get(result, (f"The swap ended as '{result}'.", "evertable status shows what is live."))
        super().__init__(f"{what} {reason}".strip(), next_step)
        self.condition = f"SWAP_{result.upper()}"  # type: ignore[misc] # one for each result
        self.result = result
        self.reason = reason


_SWAPS = {
    "rejected": ("The swap was rejected, and what was live stays live.", "Correct that, and swap again."),
    "failed": ("The swap failed, and what was live stays live.", "The table orchestrator_logs tells more."),
    "held": (
        "The swap is held back because what it would show looks wrong; what was live stays live.",
        "Compare the topic with the configuration, or swap with --force.",
    ),
    "superseded": ("A newer control message came before the swap was live.", "evertable status shows what is."),
    "pending": ("The swap is not live yet.", "It goes on; evertable status --watch shows how far it is."),
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


_TOKENS = {  # the server's own words are for programs that speak HTTP
    "TOKEN_MISSING": "The server asks for its token. Set EVERTABLE_TOKEN, or name a file that holds it (--token-file).",
    "TOKEN_WRONG": "The token is not the server's. Correct EVERTABLE_TOKEN, or the file that --token-file names.",
}


def refusal(status: int | None, body: object) -> ServerRefusedError | None:
    """The error that a body with ``condition`` and ``message`` tells; None if it is something else."""
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


def refused_with(status: int, body: object, address: str) -> EvertableError:
    """The error for an HTTP answer of 400 or more, also if something else than Evertable gave it."""
    if found := refusal(status, body):
        return found
    if status in (401, 403):
        return AccessDeniedError("ACCESS_DENIED", f"{address} answers {status}.", status=status)
    return ServerAnswerError(f"{address} answers {status}.", "Is this the address of an Evertable server?")
