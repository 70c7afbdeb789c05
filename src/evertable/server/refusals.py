"""What a request that cannot be met is answered with: a status and ``{"condition", "message"}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from evertable.errors import EvertableError, RequestError
from evertable.protocol.answers import message_of
from evertable.server.security import Refusal

STATUSES = {
    "TABLE_NOT_FOUND": 404,
    "NOT_READY": 503,
    "QUERY_TIMEOUT": 504,
    "KAFKA_UNREACHABLE": 503,
    "CONTROL_READ_ONLY": 403,
    "NOTHING_BEFORE": 409,
}
"""By condition, where it is not 400 for what a viewer asked for and 500 for what went wrong here."""

RETRY_AFTER = (("Retry-After", "2"),)  # seconds

ROUTING = {
    404: ("NOT_FOUND", "There is nothing at this address; GET /openapi.json lists what there is."),
    405: ("METHOD_NOT_ALLOWED", "This address does not take this method."),
}


class Refused(Exception):  # noqa: N818 - it carries an answer
    """Ends a request with a refusal."""

    def __init__(self, status: int, condition: str, message: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message)
        self.refusal = Refusal(status, condition, message, headers)


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(content), status, dict(headers or {}), "application/json")


def response_to(refusal: Refusal, **more: Any) -> Response:
    """The answer; sent to a WebSocket that is not accepted yet, it refuses it."""
    body = {"condition": refusal.condition, "message": refusal.message, **more}
    return json_response(body, refusal.status, dict(refusal.headers))


HANDLED = (Refused, ClientDisconnect, EvertableError, HTTPException, Exception)
"""What ``answer`` answers."""


def answer(_request: Request, error: Exception) -> Response:
    """The answer to a request that ended with ``error``. Of what nobody foresaw the log has the details, not this."""
    match error:
        case Refused():
            return response_to(error.refusal)
        case ClientDisconnect():  # nobody reads this; without it, each half request would log a traceback
            return response_to(Refusal(400, "BODY_INVALID", "The connection ended before the body did."))
        case HTTPException(status_code=status):  # what routing finds
            condition, message = ROUTING.get(status, ("REQUEST_INVALID", str(error.detail)))
            return response_to(Refusal(status, condition, message, tuple((error.headers or {}).items())))
        case EvertableError():  # raised on purpose: the texts are for people and hold no secrets
            kinds = (getattr(kind, "condition", "") for kind in type(error).__mro__)
            known = next((STATUSES[condition] for condition in kinds if condition in STATUSES), None)
            status = known or (400 if isinstance(error, RequestError) else 500)
            headers = RETRY_AFTER if status == 503 else ()
            position = getattr(error, "position", None)
            more = {} if position is None else {"position": position}
            return response_to(Refusal(status, error.condition, message_of(error), headers), **more)
    message = "The server failed in a way it did not foresee; its log says how."
    return response_to(Refusal(500, "INTERNAL_ERROR", message))
