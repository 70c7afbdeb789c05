"""What passes is tried again; what does not is said."""

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
from evertable.client.following import ProtocolError
from evertable.client.retry import Heartbeat, final

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
        ConnectionError("no sign of life"),
        InvalidMessage("no answer"),
        ProtocolError("garbage"),
        *(answered(status) for status in (408, 425, 429, 500, 502, 503, 504)),
    ],
)
def test_what_passes_once_the_server_was_reached(error: Exception) -> None:
    assert final(error, HERE, reached=True) is None


@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), TimeoutError(), InvalidMessage("no answer")])
def test_a_server_that_was_never_reached_is_said_to_be_away(error: Exception) -> None:
    problem = final(error, HERE, reached=False)
    assert isinstance(problem, ServerUnreachableError)
    assert HERE in str(problem)
    assert "evertable serve" in str(problem)


def test_a_server_that_is_full_was_reached() -> None:
    assert final(answered(503, b'{"condition":"TOO_MANY_SOCKETS","message":""}'), HERE, reached=False) is None


@pytest.mark.parametrize(
    ("status", "body", "kind", "condition"),
    [
        (401, b'{"condition":"TOKEN_WRONG","message":"no"}', AccessDeniedError, "TOKEN_WRONG"),
        (403, b"<html>", AccessDeniedError, "ACCESS_DENIED"),
        (400, b'{"condition":"SUBPROTOCOL_MISSING","message":"no"}', ServerRefusedError, "SUBPROTOCOL_MISSING"),
        (404, b"", ServerAnswerError, "SERVER_ANSWER"),
    ],
)
def test_refusals_do_not_pass(status: int, body: bytes, kind: type[Exception], condition: str) -> None:
    problem = final(answered(status, body), HERE, reached=True)
    assert type(problem) is kind
    assert getattr(problem, "condition", "") == condition


def test_a_certificate_that_is_not_trusted_does_not_pass() -> None:
    error = ssl.SSLCertVerificationError(1, "self-signed")
    error.verify_message = "self-signed certificate"
    problem = final(error, HERE, reached=True)
    assert isinstance(problem, ServerUnreachableError)
    assert "self-signed certificate" in str(problem)


@pytest.mark.parametrize("error", [ServerRefusedError("FILTER_INVALID", "no"), ZeroDivisionError()])
def test_what_is_already_said_or_is_our_own_mistake_is_raised_as_it_is(error: Exception) -> None:
    assert final(error, HERE, reached=True) is error


def test_a_heart_that_beats() -> None:
    """Pings are sent in time also while frames come; silence is a verdict only after several of them."""
    heart = Heartbeat(100.0, interval_s=5, patience_s=12)
    assert (heart.is_due(104), heart.wait_s(101)) == (False, 4)
    heart.heard(104)
    assert heart.is_due(105)
    heart.pinged(105)
    assert (heart.is_due(106), heart.wait_s(106)) == (False, 4)
    heart.pinged(110)
    heart.pinged(115)
    assert not heart.is_dead(115.9)
    assert heart.is_dead(116)
    assert heart.wait_s(115.5) == 0.5
    assert heart.wait_s(200) == 0
    heart.heard(116)
    assert not heart.is_dead(127)
