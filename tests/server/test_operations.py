"""The operators' addresses: status, control and rollback."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from tests.live.samples import table
from tests.server.conftest import Serve

from evertable.errors import EvertableError, KafkaUnreachableError, NothingBeforeError, RequestError
from evertable.schema.columns import parse_columns
from evertable.server import requests
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog


def test_status_before_anything(serve: Serve) -> None:
    """It exists whenever the server responds."""
    with httpx.Client(base_url=serve(Catalog(["users_ui"])).url) as client:
        status = client.get("/api/status").json()
    memory = status.pop("memory")
    waiting = {"name": "users_ui", "ready": False, "generation": 0, "publication": 0, "version": None, "total": None}
    expected = {"ready": False, "generation": 0, "publication": 0, "orchestrator": None, "tables": [waiting]}
    assert status == expected
    assert (memory["process_bytes"] > 10_000_000, memory["tables_bytes"], memory["max_mb"]) == (True, 0, None)


def test_status_of_the_orchestrator(serve: Serve) -> None:
    """It is the row of its table as an object, with values as in pages."""
    columns = parse_columns({"usersTopic": "string", "joinType": "string", "rows": "long", "message": "string"})
    row = BoundedTable(columns, 1)
    catalog = Catalog(["users_ui"], {"orchestrator_status": row})
    with httpx.Client(base_url=serve(catalog, {"max_memory_mb": 512}).url) as client:
        assert client.get("/api/status").json()["orchestrator"] is None
        row.put({"status": ("users_v1", "left", 2**60, None)})
        catalog.publish(2, {"users_ui": table()})
        status = client.get("/api/status").json()
    expected = {"usersTopic": "users_v1", "joinType": "left", "rows": str(2**60), "message": None}
    assert (status["orchestrator"], status["ready"], status["generation"], status["publication"]) == (
        expected,
        True,
        2,
        1,
    )
    assert [one["total"] for one in status["tables"]] == [3, 1]
    assert (status["memory"]["max_mb"], status["memory"]["tables_bytes"] > 0) == (512, True)


def test_without_an_orchestrator(client: httpx.Client) -> None:
    """Control is refused with a reason."""
    for path in ("/api/control", "/api/rollback"):
        answer = client.post(path, json={})
        assert (answer.status_code, answer.json()["condition"]) == (503, "CONTROL_DISABLED")


class Orchestrator:
    """Records messages, and can refuse them."""

    def __init__(self) -> None:
        self.received: list[Mapping[str, Any] | str] = []
        self.error: Exception | None = None

    async def control(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        self.received.append(message)
        if self.error is not None:
            raise self.error
        return {"result": "accepted", "offset": len(self.received)}

    async def rollback(self) -> Mapping[str, Any]:
        if self.error:
            raise self.error
        self.received.append("rollback")
        return {"result": "accepted"}


def test_control(serve: Serve, catalog: Catalog) -> None:
    """The object reaches the orchestrator unchanged, and its answer is returned."""
    orchestrator = Orchestrator()
    server = serve(catalog, control=orchestrator.control, rollback=orchestrator.rollback)
    with httpx.Client(base_url=server.url) as client:
        answer = client.post("/api/control", json={"usersTopic": "users_v2", "joinType": None})
        assert (answer.status_code, answer.json()) == (202, {"result": "accepted", "offset": 1})
        assert (client.post("/api/rollback").json(), client.post("/api/rollback", json={}).status_code) == (
            {"result": "accepted"},
            202,
        )
    assert orchestrator.received == [{"usersTopic": "users_v2", "joinType": None}, "rollback", "rollback"]


class RejectedError(RequestError):
    condition = "CONTROL_REJECTED"


class ReadOnlyError(EvertableError):
    condition = "CONTROL_READ_ONLY"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RejectedError("There is no topic x.", "Create it first."), (400, "CONTROL_REJECTED")),
        (ReadOnlyError("No."), (403, "CONTROL_READ_ONLY")),
        (KafkaUnreachableError("No broker."), (503, "KAFKA_UNREACHABLE")),
        (EvertableError("Hm."), (500, "EVERTABLE_ERROR")),
        (ValueError("a secret"), (500, "INTERNAL_ERROR")),
    ],
)
def test_what_the_orchestrator_refuses(
    serve: Serve, catalog: Catalog, error: Exception, expected: tuple[int, str]
) -> None:
    """Its errors keep their conditions; unexpected ones reveal nothing."""
    orchestrator = Orchestrator()
    orchestrator.error = error
    with httpx.Client(base_url=serve(catalog, control=orchestrator.control).url) as client:
        answer = client.post("/api/control", json={})
    assert (answer.status_code, answer.json()["condition"]) == expected
    assert ("Create it first." in answer.text, "secret" in answer.text) == (expected[0] == 400, False)


def test_a_byte_order_mark_in_a_body_is_named(client: httpx.Client) -> None:
    answer = client.post("/api/control", content=b'\xef\xbb\xbf{"joinType": "inner"}')
    assert answer.json()["message"].startswith("The body begins with a byte order mark (BOM, EF BB BF).")


def test_a_rollback_without_a_wiring_before(serve: Serve, catalog: Catalog) -> None:
    """It is a conflict, not a bad request, and may work later."""
    orchestrator = Orchestrator()
    orchestrator.error = NothingBeforeError("There was no other wiring before this one.")
    with httpx.Client(base_url=serve(catalog, rollback=orchestrator.rollback).url) as client:
        answer = client.post("/api/rollback")
    assert (answer.status_code, answer.json()["condition"]) == (409, "NOTHING_BEFORE")


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/api/control", b"", (400, "BODY_INVALID")),
        ("/api/control", b"{", (400, "BODY_INVALID")),
        ("/api/control", b"\xef\xbb\xbf{}", (400, "BODY_INVALID")),
        ("/api/control", b"[]", (400, "BODY_INVALID")),
        ("/api/control", b'"x"', (400, "BODY_INVALID")),
        ("/api/control", b"null", (400, "BODY_INVALID")),
        ("/api/control", b"\xff", (400, "BODY_INVALID")),
        ("/api/control", b'{"a": NaN}', (400, "BODY_INVALID")),
        ("/api/control", b"[" * 60_000, (400, "BODY_INVALID")),
        ("/api/control", b'{"a":"' + b"x" * 65_530 + b'"}', (413, "BODY_TOO_LARGE")),
        ("/api/control", b'{"a":"' + b"x" * 65_528 + b'"}', (202, "")),
        ("/api/rollback", b'{"a": 1}', (400, "BODY_INVALID")),
        ("/api/rollback", b"x", (400, "BODY_INVALID")),
    ],
)
def test_bodies(serve: Serve, catalog: Catalog, path: str, body: bytes, expected: tuple[int, str]) -> None:
    """One JSON object of at most 64 kB; nothing else reaches the orchestrator."""
    orchestrator = Orchestrator()
    server = serve(catalog, control=orchestrator.control, rollback=orchestrator.rollback)
    with httpx.Client(base_url=server.url) as client:
        answer = client.post(path, content=body)
        assert (answer.status_code, answer.json().get("condition", "")) == expected
        assert len(orchestrator.received) == (expected[0] == 202)
        chunked = client.post(path, content=iter([body[:10], body[10:]]))  # without a length
        assert (chunked.status_code, chunked.json().get("condition", "")) == expected
        assert client.get("/healthz").status_code == 200


def test_an_incomplete_body(serve: Serve, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is awaited for a limited time."""
    monkeypatch.setattr(requests, "BODY_TIMEOUT_S", 0.01)
    server = serve(catalog)
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(b"POST /api/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        answer = b"".join(iter(lambda: slow.recv(65536), b""))  # until the server closes
    assert (answer[:12], b'"condition":"BODY_TOO_SLOW"' in answer) == (b"HTTP/1.1 408", True)


def test_only_posts(client: httpx.Client) -> None:
    """GET changes nothing."""
    for path in ("/api/control", "/api/rollback"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
