"""Temporary failures are retried; permanent ones are raised."""

from __future__ import annotations

import ssl

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK, InvalidMessage, InvalidStatus
from websockets.frames import Close
from websockets.http11 import Response

from evertable.client.errors import (
    AccessDeniedError,
    ServerAnswerError,
    ServerRefusedError,
    ServerUnreachableError,
)
from evertable.client.receiver import ProtocolError
from evertable.client.retry import permanent_failure

HERE = "http://here"


def answered(status: int, body: bytes = b"") -> InvalidStatus:
    return InvalidStatus(Response(status, "", Headers(), body))


def closed(code: int) -> ConnectionClosedError:
    return ConnectionClosedError(Close(code, ""), None)


@pytest.mark.parametrize(
    "error",
    [
        *(closed(code) for code in (1000, 1001, 1006, 1009, 1011, 1012, 4400)),
        ConnectionClosedOK(None, None),
        ConnectionRefusedError(),
        TimeoutError(),
        ConnectionError("no answer"),
        InvalidMessage("no answer"),
        ProtocolError("garbage"),
        *(answered(status) for status in (408, 425, 429, 500, 502, 503, 504)),
    ],
)
def test_temporary_failures_of_a_server_that_was_reached(error: Exception) -> None:
    assert permanent_failure(error, HERE, reached=True) is None


@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), TimeoutError(), InvalidMessage("no answer")])
def test_a_server_that_was_never_reached_is_unreachable(error: Exception) -> None:
    problem = permanent_failure(error, HERE, reached=False)
    assert isinstance(problem, ServerUnreachableError)
    assert HERE in str(problem)
    assert "evertable serve" in str(problem)


def test_a_server_that_is_full_was_reached() -> None:
    assert (
        permanent_failure(answered(503, b'{"condition":"TOO_MANY_SOCKETS","message":""}'), HERE, reached=False) is None
    )


@pytest.mark.parametrize(
    ("status", "body", "kind", "condition"),
    [
        (401, b'{"condition":"TOKEN_WRONG","message":"no"}', AccessDeniedError, "TOKEN_WRONG"),
        (403, b"<html>", AccessDeniedError, "ACCESS_DENIED"),
        (400, b'{"condition":"SUBPROTOCOL_MISSING","message":"no"}', ServerRefusedError, "SUBPROTOCOL_MISSING"),
        (404, b"", ServerAnswerError, "SERVER_ANSWER"),
    ],
)
def test_refusals_are_permanent(status: int, body: bytes, kind: type[Exception], condition: str) -> None:
    problem = permanent_failure(answered(status, body), HERE, reached=True)
    assert type(problem) is kind
    assert getattr(problem, "condition", "") == condition


def test_an_untrusted_certificate_is_permanent() -> None:
    error = ssl.SSLCertVerificationError(1, "self-signed")
    error.verify_message = "self-signed certificate"
    problem = permanent_failure(error, HERE, reached=True)
    assert isinstance(problem, ServerUnreachableError)
    assert "self-signed certificate" in str(problem)


@pytest.mark.parametrize("error", [ServerRefusedError("FILTER_INVALID", "no"), ZeroDivisionError()])
def test_other_errors_are_returned_unchanged(error: Exception) -> None:
    assert permanent_failure(error, HERE, reached=True) is error
