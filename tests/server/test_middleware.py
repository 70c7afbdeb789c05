"""The middleware of a real server: refusals, headers, and secrets that stay hidden."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.routing import Route
from tests.server.conftest import Serve
from tests.server.stubs import TOKEN, greeting
from tests.server_thread import ServerThread
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from evertable.server.app import App
from evertable.server.middleware import HEADERS
from evertable.tables.catalog import Catalog

BEARER = {"Authorization": f"Bearer {TOKEN}"}
PROTOCOL = Subprotocol("evertable.v1")


async def broken(_request: object) -> None:
    raise ValueError(f"the secret is {TOKEN}")


@pytest.fixture
def guarded(serve: Serve, catalog: Catalog) -> ServerThread[App]:
    """Starts a server with a token and one allowed origin."""
    settings = {"token": TOKEN, "origins": ["https://dash.example.com"]}
    return serve(catalog, settings, websocket=greeting, routes=[Route("/broken", broken)])


@pytest.fixture
def client(guarded: ServerThread[App]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guarded.url) as made:
        yield made


def refused(server: ServerThread[App], path: str = "/ws", **options: Any) -> tuple[int, Any]:
    """Returns the response to a refused WebSocket."""
    with pytest.raises(InvalidStatus) as error, connect(server.url.replace("http", "ws") + path, **options):
        pass
    answer = error.value.response
    return answer.status_code, json.loads(answer.body or b"")


def test_everything_but_health_needs_the_token(client: httpx.Client) -> None:
    """Paths that do not exist need one, too, so that nobody learns which do."""
    for path in ("/api/tables", "/api/tables/users_ui.csv", "/api/status", "/metrics", "/openapi.json", "/nope"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["condition"]) == (401, "TOKEN_MISSING")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert (client.get("/healthz").status_code, client.get("/readyz").status_code) == (200, 200)
    assert client.post("/api/control", json={}).status_code == 401
    wrong = client.get("/api/tables", headers={"Authorization": "Bearer x"}).json()
    assert wrong["condition"] == "TOKEN_WRONG"
    assert "Send the value that EVERTABLE_TOKEN or server.token had" in wrong["message"]
    assert client.get("/api/tables", headers=BEARER).status_code == 200
    assert client.get("/nope", headers=BEARER).status_code == 404


def test_sockets_are_refused_before_they_are_accepted(guarded: ServerThread[App]) -> None:
    """The reason is in an ordinary HTTP response."""
    status, body = refused(guarded, subprotocols=[PROTOCOL])
    assert (status, body["condition"]) == (401, "TOKEN_MISSING")
    status, body = refused(guarded, subprotocols=[PROTOCOL, Subprotocol("bearer.eA")])
    assert (status, body["condition"]) == (401, "TOKEN_WRONG")
    evil = Origin("https://evil.example")
    status, body = refused(guarded, subprotocols=[PROTOCOL], origin=evil, additional_headers=BEARER)
    assert (status, body["condition"]) == (403, "ORIGIN_NOT_ALLOWED")
    status, body = refused(guarded, additional_headers=BEARER)
    assert (status, body["condition"]) == (400, "SUBPROTOCOL_MISSING")
    status, body = refused(guarded, "/nope", subprotocols=[PROTOCOL], additional_headers=BEARER)
    assert (status, body["condition"]) == (404, "NOT_FOUND")
    status, body = refused(guarded, "/api/tables", subprotocols=[PROTOCOL], additional_headers=BEARER)
    assert (status, body["condition"]) == (404, "NOT_FOUND")


def test_sockets_with_the_token(guarded: ServerThread[App]) -> None:
    """It is in the header or, as in browsers, among the subprotocols; the response never repeats it."""
    url = guarded.url.replace("http", "ws") + "/ws"
    browser = Subprotocol("bearer.Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ")
    own = Origin(guarded.url)
    with connect(url, subprotocols=[browser, PROTOCOL], origin=own) as socket:
        assert (socket.recv(), socket.subprotocol) == ("hello", PROTOCOL)
    with connect(
        url, subprotocols=[PROTOCOL], additional_headers=BEARER, origin=Origin("https://dash.example.com")
    ) as socket:
        assert socket.recv() == "hello"


def test_without_a_token_only_loopback_names_are_served(serve: Serve, catalog: Catalog) -> None:
    """Pages of other origins cannot use DNS rebinding, post, or open a socket."""
    server = serve(catalog, websocket=greeting)
    with httpx.Client(base_url=server.url) as client:
        assert client.get("/api/tables").status_code == 200
        for path in ("/api/tables", "/healthz", "/nope"):
            answer = client.get(path, headers={"Host": "evil.example"})
            assert (answer.status_code, answer.json()["condition"]) == (403, "HOST_NOT_ALLOWED")
        answer = client.get("/api/tables", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"})
        assert (answer.status_code, answer.json()["condition"]) == (403, "ORIGIN_NOT_ALLOWED")
        evil = {"Origin": "http://evil.example"}
        answer = client.post("/api/rollback", headers=evil)
        assert (answer.status_code, answer.json()["condition"]) == (403, "ORIGIN_NOT_ALLOWED")
        assert client.post("/api/rollback", headers={"Origin": server.url}).json()["condition"] == "CONTROL_DISABLED"
    status, body = refused(server, subprotocols=[PROTOCOL], origin=Origin("http://evil.example"))
    assert (status, body["condition"]) == (403, "ORIGIN_NOT_ALLOWED")
    with connect(server.url.replace("http", "ws") + "/ws", subprotocols=[PROTOCOL]) as socket:
        assert socket.recv() == "hello"


def test_pages_of_other_origins(client: httpx.Client) -> None:
    """Listed ones may read responses; others get no headers."""
    dash = {"Origin": "https://dash.example.com"}
    ask = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    answer = client.options("/api/tables", headers=dash | ask)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "https://dash.example.com"
    assert "Authorization" in answer.headers["access-control-allow-headers"]
    answer = client.get("/api/tables", headers=dash | BEARER)
    assert (answer.status_code, answer.headers["vary"]) == (200, "Origin")
    assert answer.headers["access-control-allow-origin"] == "https://dash.example.com"
    evil = {"Origin": "https://evil.example"}
    for answer in (client.options("/api/tables", headers=evil | ask), client.get("/api/tables", headers=evil | BEARER)):
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    assert "access-control-allow-origin" not in client.get("/api/tables", headers=BEARER).headers


def test_headers_on_every_answer(client: httpx.Client, guarded: ServerThread[App]) -> None:
    """Refusals and failures have them, too; nothing under /api is cached; HSTS is sent only with TLS."""
    answers = [client.get(path, headers=BEARER) for path in ("/api/tables", "/healthz", "/nope", "/broken", "/metrics")]
    answers += [client.get("/api/tables"), client.put("/api/tables", headers=BEARER)]
    assert [answer.status_code for answer in answers] == [200, 200, 404, 500, 200, 401, 405]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert "strict-transport-security" not in answer.headers
        assert (answer.headers.get("cache-control") == "no-store") == answer.request.url.path.startswith("/api/")
    with pytest.raises(InvalidStatus) as error, connect(guarded.url.replace("http", "ws") + "/ws"):
        pass
    assert error.value.response.headers["X-Content-Type-Options"] == "nosniff"


def test_failures_reveal_nothing(
    client: httpx.Client, guarded: ServerThread[App], caplog: pytest.LogCaptureFixture
) -> None:
    """The stack is in the log, but not in the response."""
    answer = client.get("/broken", headers=BEARER)
    message = "The server failed unexpectedly. See its log for details."
    assert (answer.status_code, answer.json()) == (500, {"condition": "INTERNAL_ERROR", "message": message})
    guarded.stop()  # it logs after the response
    assert "Traceback" in caplog.text


def test_the_token_is_in_no_log(serve: Serve, catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    """This holds at any level, wherever a client puts it, even in malformed requests."""
    caplog.set_level(logging.DEBUG)
    logging.getLogger("uvicorn.error").setLevel(logging.DEBUG)  # as a host application might set it
    server = serve(catalog, {"token": TOKEN}, websocket=greeting)
    with httpx.Client(base_url=server.url) as client:
        for headers in (BEARER, {"Authorization": TOKEN}, {"Authorization": f"Bearer {TOKEN}x"}, {"Cookie": TOKEN}):
            client.get("/api/tables", headers=headers)
        client.post("/api/control", content=TOKEN.encode(), headers=BEARER)
    url = server.url.replace("http", "ws")
    refused(server, f"/ws?token={TOKEN}", subprotocols=[PROTOCOL], additional_headers={"Cookie": TOKEN})
    with connect(f"{url}/ws?token={TOKEN}", subprotocols=[PROTOCOL], additional_headers=BEARER) as socket:
        socket.recv()
    server.stop()
    lines = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith(("uvicorn", "evertable", "starlette"))
    ]
    assert [line for line in lines if TOKEN in line] == []
