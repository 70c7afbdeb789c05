"""Responses to refused and failed requests: a status and ``{"condition", "message"}``."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from evertable.errors import EvertableError, RequestError
from evertable.protocol.answers import refusal_json
from evertable.server.security import Refusal

STATUSES = {
    "TABLE_NOT_FOUND": 404,
    "NOT_READY": 503,
    "QUERY_TIMEOUT": 504,
    "KAFKA_UNREACHABLE": 503,
    "CONTROL_READ_ONLY": 403,
    "NOTHING_BEFORE": 409,
}
"""Statuses by condition; others have 400 for an invalid request and 500 for a failure of the server."""

RETRY_AFTER = {"Retry-After": "2"}  # seconds

ROUTING = {
    404: ("NOT_FOUND", "This address does not exist. GET /openapi.json lists all addresses."),
    405: ("METHOD_NOT_ALLOWED", "This address does not support this method."),
}


def json_response(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(content), status, headers, "application/json")


def response_to(error: EvertableError) -> Response:
    """Returns the response; sent to a WebSocket before it is accepted, it refuses it."""
    if isinstance(error, Refusal):
        return json_response(refusal_json(error), error.status, error.headers)
    kinds = (getattr(kind, "condition", "") for kind in type(error).__mro__)
    known = next((STATUSES[condition] for condition in kinds if condition in STATUSES), None)
    status = known or (400 if isinstance(error, RequestError) else 500)
    return json_response(refusal_json(error), status, RETRY_AFTER if status == 503 else None)


HANDLED = (ClientDisconnect, EvertableError, HTTPException, Exception)
"""The exceptions that ``answer`` turns into responses."""


def answer(_request: Request, error: Exception) -> Response:
    """Returns the response to a request that raised ``error``; details of unexpected errors are only in the log."""
    match error:
        case EvertableError():  # raised on purpose: its text is for people and holds no secrets
            return response_to(error)
        case ClientDisconnect():  # not read by anyone, but without it each incomplete request would log a traceback
            return response_to(Refusal(400, "BODY_INVALID", "The connection ended before the body did."))
        case HTTPException(status_code=status):  # raised by the router
            condition, message = ROUTING.get(status, ("REQUEST_INVALID", str(error.detail)))
            return response_to(Refusal(status, condition, message, error.headers))
    return response_to(Refusal(500, "INTERNAL_ERROR", "The server failed unexpectedly. See its log for details."))
