"""Wrong tokens are counted, delayed and logged rarely; junk fills no log, and responses repeat no secrets."""

from __future__ import annotations

import asyncio
import json
import logging
import socket

import httpx
import pytest
from pydantic import SecretStr
from starlette.types import Message, Receive, Scope, Send
from tests.server.conftest import Serve
from tests.server.stubs import TOKEN, greeting
from tests.waiting import wait_until

from evertable.server.bad_requests import (
    MAX_ADDRESSES,
    MAX_DELAY_S,
    MAX_HELD,
    BadRequests,
)
from evertable.server.middleware import HEADERS, AccessMiddleware
from evertable.server.security import AccessRules
from evertable.server.uvicorn_internals import WebSocketProtocol
from evertable.tables.catalog import Catalog

ENCODED = "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ"  # the same, as a WebSocket offers it

HELLO_TLS = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200)
UPGRADE = b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
POST = b"POST /api/control HTTP/1.1\r\nHost: localhost\r\n"

NO_REQUESTS = [
    HELLO_TLS,
    b"\x00" * 100,
    b"garbage\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\n\r\n",
    POST + b"Content-Length: 10\r\nContent-Length: 11\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nZZ\r\n",
    b"GET /api/tables HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    UPGRADE + b"\r\n",
    UPGRADE + b"Sec-WebSocket-Key: \xff\xfe\r\nSec-WebSocket-Version: 13\r\n\r\n",
    UPGRADE + KEY + b"Origin: a\r\nOrigin: b\r\n\r\n",
    UPGRADE + KEY + b"X: " + b"x" * 9_000 + b"\r\n\r\n",
    UPGRADE + KEY + b"X: x\r\n" * 200 + b"\r\n",
]
ENDED_EARLY = [b"", b"GET / HTTP/1.1\r\nHost: loc", POST + b"Content-Length: 10\r\n\r\n{}"]


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Sleeps:
    """Replaces asyncio.sleep: records the delay, and lasts until it is opened."""

    def __init__(self, *, opened: bool = True) -> None:
        self.seconds: list[float] = []
        self.open = asyncio.Event()
        if opened:
            self.open.set()

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await self.open.wait()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def answer_to(port: int, sent: bytes, *, ended: bool = False) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent)
        if ended:
            connection.shutdown(socket.SHUT_WR)
        seen = b""
        while part := connection.recv(10_000):
            seen += part
        return seen


def metric(url: str, name: str, headers: dict[str, str] | None = None) -> float:
    text = httpx.get(f"{url}/metrics", headers=headers).text
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} "))


def test_one_line_for_each_address_and_minute(caplog: pytest.LogCaptureFixture) -> None:
    """The line has the number of attempts; the delay doubles within a minute, up to a limit."""
    clock, sleeps = Clock(), Sleeps()

    async def guess() -> None:
        tokens = BadRequests(clock, sleeps)
        for _ in range(20):
            await tokens.wrong_token(("192.0.2.7", 1))
        await tokens.wrong_token(("192.0.2.8", 1))
        clock.now += 61
        await tokens.wrong_token(("192.0.2.7", 1))
        assert tokens.wrong_tokens == 22

    asyncio.run(guess())
    assert sleeps.seconds[:4] == [0.1, 0.2, 0.4, 0.8]
    assert set(sleeps.seconds[5:20]) == {MAX_DELAY_S}
    assert sleeps.seconds[20:] == [0.1, 0.1]
    advice = "If it should get in, check its token."
    assert lines(caplog) == [
        f"A request from 192.0.2.7 had a wrong token. {advice}",
        f"A request from 192.0.2.8 had a wrong token. {advice}",
        f"A request from 192.0.2.7 had a wrong token, and 19 more since the last such line. {advice}",
    ]


def test_a_network_of_ipv6_counts_as_one_address(caplog: pytest.LogCaptureFixture) -> None:
    sleeps = Sleeps()

    async def guess() -> None:
        tokens = BadRequests(Clock(), sleeps)
        for last in range(5):
            await tokens.wrong_token((f"2001:db8::{last:x}", 1))

    asyncio.run(guess())
    assert len(set(sleeps.seconds)) == 5
    assert [line.split()[3] for line in lines(caplog)] == ["2001:db8::/64"]


def test_many_addresses_take_no_more_memory() -> None:
    tokens = BadRequests(Clock(), Sleeps())

    async def guess() -> None:
        for number in range(MAX_ADDRESSES + 100):
            await tokens.wrong_token((f"host {number}", 1))

    asyncio.run(guess())
    assert len(tokens._minutes) == MAX_ADDRESSES


def test_guessing_never_delays_the_right_token() -> None:
    """The maximum of wrong ones is delayed meanwhile; further wrong ones are answered immediately."""

    async def guess() -> None:
        sleeps = Sleeps(opened=False)
        gate = AccessMiddleware(_fine, AccessRules(SecretStr(TOKEN)), BadRequests(Clock(), sleeps))
        held = [asyncio.create_task(_status(gate, "wrong")) for _ in range(MAX_HELD)]
        while len(sleeps.seconds) < MAX_HELD:
            await asyncio.sleep(0)
        assert await _status(gate, TOKEN) == 200
        assert await _status(gate, "wrong") == 401
        assert not any(task.done() for task in held)
        sleeps.open.set()
        assert set(await asyncio.gather(*held)) == {401}

    asyncio.run(guess())


async def _fine(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _status(gate: AccessMiddleware, token: str) -> int:
    sent: list[Message] = []
    scope = {
        "type": "http",
        "path": "/api/tables",
        "method": "GET",
        "scheme": "http",
        "client": ("192.0.2.7", 1),
        "headers": [(b"authorization", f"Bearer {token}".encode())],
    }

    async def receive() -> Message:
        raise AssertionError("nothing reads the body")

    async def send(message: Message) -> None:
        sent.append(message)

    await gate(scope, receive, send)
    return int(sent[0]["status"])


def test_wrong_tokens_of_a_real_server(serve: Serve, catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    """Over HTTP and WebSocket; a missing token is no attempt."""
    server = serve(catalog, {"token": TOKEN}, websocket=greeting)
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer y"}):
        assert httpx.get(f"{server.url}/api/tables", headers=headers).status_code == 401
    offer = b"Sec-WebSocket-Protocol: evertable.v1, bearer.eA\r\n\r\n"
    assert answer_to(server.port, UPGRADE + KEY + offer).startswith(b"HTTP/1.1 401")
    assert metric(server.url, "evertable_wrong_tokens_total", {"Authorization": f"Bearer {TOKEN}"}) == 3
    assert [line.partition(". ")[0] for line in lines(caplog)] == ["A request from 127.0.0.1 had a wrong token"]


def test_junk_writes_one_line_a_minute(serve: Serve, catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    """TLS, garbage, bad bodies and bad handshakes are refused, counted, and summarised in the log."""
    server = serve(catalog, websocket=greeting)
    for sent in NO_REQUESTS:
        assert answer_to(server.port, sent).startswith(b"HTTP/1.1 4"), sent
    for sent in ENDED_EARLY:
        answer_to(server.port, sent, ended=True)
    assert metric(server.url, "evertable_junk_connections_total") == len(NO_REQUESTS)
    server.stop()
    assert lines(caplog) == [
        "A connection from 127.0.0.1 sent no valid HTTP request. Does a client use https or another protocol here?"
    ]


def test_the_summary_has_the_number(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    junk = BadRequests(clock)
    for _ in range(1_000):
        junk.junk_connection(("192.0.2.7", 1))
    clock.now += 60
    junk.junk_connection(("192.0.2.9", 1))
    assert [line.partition(". ")[0] for line in lines(caplog)] == [
        "A connection from 192.0.2.7 sent no valid HTTP request",
        "A connection from 192.0.2.9 sent no valid HTTP request, and 999 more since the last such line",
    ]


def test_junk_behind_a_request_does_not_affect_it(serve: Serve, catalog: Catalog) -> None:
    """A good request is answered, whatever follows on the connection."""
    server = serve(catalog)
    seen = answer_to(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGARBAGE\r\n\r\n")
    assert seen.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 400" in seen


@pytest.mark.parametrize(
    "offer",
    [
        f"evertable.v1, bearer.{ENCODED} x",
        f"evertable.v1; bearer.{ENCODED}",
        f'evertable.v1, "bearer.{ENCODED}"',
        f"evertable.v1, bearer.{ENCODED}\xff",
        f"evertable.v1, bearer:{TOKEN}/",
    ],
)
def test_a_malformed_subprotocol_is_refused(
    serve: Serve, catalog: Catalog, caplog: pytest.LogCaptureFixture, offer: str
) -> None:
    """The response has condition and headers; neither it nor the log repeats the offered text."""
    caplog.set_level(logging.DEBUG)
    server = serve(catalog, {"token": TOKEN}, websocket=greeting)
    line = b"Sec-WebSocket-Protocol: " + offer.encode("latin-1") + b"\r\n\r\n"
    head, body = _parts(answer_to(server.port, UPGRADE + KEY + line))
    assert head["status"] == "400"
    assert {name: head.get(name.lower()) for name in HEADERS} == HEADERS
    assert json.loads(body)["condition"] == "SUBPROTOCOL_INVALID"
    server.stop()
    output = body + "".join(record.getMessage() + str(record.exc_text) for record in caplog.records)
    assert [secret for secret in (ENCODED, TOKEN) if secret in output] == []


def test_a_padded_token_opens_a_socket(serve: Serve, catalog: Catalog) -> None:
    """Padded base64 is accepted, although RFC 9110 does not allow it as a token."""
    server = serve(catalog, {"token": TOKEN}, websocket=greeting)
    sent = UPGRADE + KEY + f"Sec-WebSocket-Protocol: evertable.v1, bearer.{ENCODED}==\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(sent)
        assert connection.recv(12) == b"HTTP/1.1 101"


def test_other_bad_handshakes_repeat_nothing_either(serve: Serve, catalog: Catalog) -> None:
    server = serve(catalog, {"token": TOKEN}, websocket=greeting)
    for bad in (f"Sec-WebSocket-Key: {TOKEN}\r\n", f"Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: {TOKEN}\r\n"):
        head, body = _parts(answer_to(server.port, UPGRADE + bad.encode() + b"\r\n"))
        assert (head["status"], json.loads(body)["condition"]) == ("400", "HANDSHAKE_INVALID")
        assert head["x-content-type-options"] == "nosniff"
        assert TOKEN not in body


def test_a_handshake_that_is_too_long_holds_no_connection(
    serve: Serve, catalog: Catalog, lost: list[WebSocketProtocol]
) -> None:
    """It is answered, and its connection closed."""
    server = serve(catalog, websocket=greeting)
    assert answer_to(server.port, UPGRADE + KEY + b"X: " + b"x" * 9_000 + b"\r\n\r\n").startswith(b"HTTP/1.1 431")
    wait_until(lambda: lost, "the connection ends")


def _parts(answer: bytes) -> tuple[dict[str, str], str]:
    """Splits a response into status, headers and body."""
    head, _, body = answer.decode("latin-1").partition("\r\n\r\n")
    first, *rest = head.split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    return {"status": first.split()[1], **headers}, body
