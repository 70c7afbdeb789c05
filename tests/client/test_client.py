"""The client against a real server: pages, whole tables, swaps, and errors."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.client.live_server import ADA, BOB, COLUMNS, LiveServer, StartServer, answering

from evertable.client import (
    AccessDeniedError,
    AddressError,
    Client,
    ClientClosedError,
    PandasMissingError,
    ServerAnswerError,
    ServerRefusedError,
    ServerUnreachableError,
    TableInfo,
)
from evertable.client.address import Address
from evertable.schema.columns import parse_columns
from evertable.tables.bounded import BoundedTable
from evertable.tables.table import schema_of

TOKEN = "a-secret"  # noqa: S105 - for tests


def test_tables_are_listed(client: Client) -> None:
    assert client.tables() == [TableInfo("later", False, 0, 0, None, None), TableInfo("people", True, 0, 0, 1, 2)]
    assert client.table("people").info() == TableInfo("people", True, 0, 0, 1, 2)


def test_a_page_has_python_s_types(client: Client) -> None:
    page = client.table("people").page()
    assert page.columns == COLUMNS
    assert page.rows == (ADA, BOB)
    assert [list(map(type, row)) for row in page.rows] == [list(map(type, row)) for row in (ADA, BOB)]
    assert (page.table, page.total, page.offset, page.version) == ("people", 2, 0, 1)


def test_a_page_of_a_view(client: Client) -> None:
    table = client.table("people")
    assert table.page(columns=["age", "name"], sort=["-name"]).rows == ((None, "Bob"), (36, "Ada"))
    assert table.page(["name"], filter="age > 30 and name contains 'd'").rows == (("Ada",),)
    assert table.page(["name"], newest_first=True, limit=1).rows == (("Bob",),)
    one = table.page(["name"], offset=1)
    assert (one.rows, one.offset, one.total) == ((("Bob",),), 1, 2)


def test_unusual_column_names(client: Client, server: LiveServer) -> None:
    """Names with commas, ampersands and leading minus signs work."""
    columns = parse_columns({"a,b": "int", "-x": "int", "&?=% é": "int"})
    odd = BoundedTable(columns, 10)
    odd.append([(1, 2, 3), (4, 5, 6)])
    server.catalog.publish(1, {"later": odd})
    table = client.table("later")
    assert table.page(["&?=% é", "a,b"], sort=["-a,b"]).rows == ((6, 4), (3, 1))
    assert table.page(["-x"], sort=["--x"]).rows == ((5,), (2,))


def test_a_whole_table_as_arrow(client: Client, server: LiveServer) -> None:
    many = [(f"name {i}", *ADA[1:]) for i in range(5_000)]
    server.people.append(many)
    table = client.table("people").to_arrow()
    assert table.schema.equals(schema_of(COLUMNS))
    assert [tuple(row.values()) for row in table.to_pylist()] == [ADA, BOB, *many]
    part = client.table("people").to_arrow(columns=["name"], sort=["-name"], filter="name <= 'Bob'")
    assert part.to_pydict() == {"name": ["Bob", "Ada"]}


def test_a_whole_table_as_pandas(client: Client) -> None:
    frame = client.table("people").to_pandas(columns=["name", "balance"], newest_first=True)
    assert frame.to_dict("list") == {"name": ["Bob", "Ada"], "balance": [BOB[5], ADA[5]]}


def test_missing_pandas(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PandasMissingError, match=r"pip install 'evertable\[pandas\]'"):
        client.table("people").to_pandas()


@pytest.mark.parametrize(
    ("name", "view", "condition", "status"),
    [
        ("nothing", {}, "TABLE_NOT_FOUND", 404),
        ("later", {}, "NOT_READY", 503),
        ("people", {"columns": ["nose"]}, "COLUMN_NOT_FOUND", 400),
        ("people", {"filter": "age >"}, "FILTER_INVALID", 400),
        ("people", {"limit": 1_000_000}, "PAGE_TOO_LARGE", 400),
    ],
)
def test_refusals_have_the_server_s_condition(
    client: Client, name: str, view: Mapping[str, Any], condition: str, status: int
) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        client.table(name).page(**view)
    assert (refused.value.condition, refused.value.status) == (condition, status)
    assert str(refused.value).startswith(f"[{condition}] ")
    assert (refused.value.position is not None) == (condition == "FILTER_INVALID")
    if condition not in ("PAGE_TOO_LARGE",):
        with pytest.raises(ServerRefusedError):
            client.table(name).to_arrow(**view)


def test_a_string_instead_of_a_list_is_an_error(client: Client) -> None:
    with pytest.raises(TypeError, match="sort must be a list of names"):
        client.table("people").page(sort="name")


def test_with_the_right_token(start_server: StartServer) -> None:
    with Client(start_server({"token": TOKEN}).url, TOKEN) as client:
        assert client.table("people").page().total == 2
        with client.table("people").watch() as watch:
            assert next(watch).total == 2


@pytest.mark.parametrize(("token", "condition"), [(None, "TOKEN_MISSING"), ("wrong", "TOKEN_WRONG")])
def test_without_the_right_token(start_server: StartServer, token: str | None, condition: str) -> None:
    """Requests and watches fail immediately."""
    with Client(start_server({"token": TOKEN}).url, token) as client:
        for ask in (client.tables, client.table("people").page, lambda: next(client.table("people").watch())):
            with pytest.raises(AccessDeniedError) as denied:
                ask()
            assert (denied.value.condition, denied.value.status) == (condition, 401)


def test_the_token_is_in_no_text(start_server: StartServer, caplog: pytest.LogCaptureFixture) -> None:
    """The token is in no repr, no log line at DEBUG, and no error."""
    caplog.set_level(logging.DEBUG)
    server = start_server({"token": "hush"})
    with Client(server.url, "hush") as client:
        next(client.table("people").watch())
        client.tables()
        texts = [repr(client), repr(client.table("people")), repr(client._address), str(client._address)]
        server.stop()
        with pytest.raises(ServerUnreachableError) as error:
            client.tables()
    assert caplog.records
    assert "hush" not in "".join([*texts, str(error.value), repr(error.value), caplog.text])


def test_an_unreachable_server(server: LiveServer) -> None:
    """The error has the address and the next step."""
    server.stop()
    with Client(server.url) as client:
        for ask in (client.tables, client.table("people").to_arrow, lambda: next(client.table("people").watch())):
            with pytest.raises(ServerUnreachableError) as error:
                ask()
            assert server.url in str(error.value)
            assert "evertable serve" in str(error.value)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"tables":[{}]',
        b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"tables":[{}]}',
        b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_another_program_at_the_address(raw: bytes) -> None:
    with answering(raw) as url, Client(url) as client, pytest.raises(ServerAnswerError) as wrong:
        client.tables()
    assert wrong.value.next_step


def test_a_truncated_download_is_an_error() -> None:
    """A truncated stream never becomes a table."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"a": list(range(100))})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    body = sink.getvalue().to_pybytes()
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for length in (len(body) - 8, len(body) - 100, 10, 0):  # the end mark has 8 bytes
        cut = b"%b%x\r\n%b" % (head, len(body), body[:length])
        with answering(cut) as url, Client(url) as client, pytest.raises(ServerUnreachableError):
            client.table("t").to_arrow()
    whole = b"%b%x\r\n%b\r\n0\r\n\r\n" % (head, len(body), body)
    with answering(whole) as url, Client(url) as client:
        assert client.table("t").to_arrow().num_rows == 100


def test_swap_and_rollback(start_server: StartServer) -> None:
    messages: list[Any] = []

    async def control(message: Mapping[str, Any]) -> Mapping[str, Any]:
        messages.append(dict(message))
        return {"result": "accepted"}

    async def rollback() -> Mapping[str, Any]:
        messages.append("rollback")
        return {"result": "rolled back"}

    with Client(start_server(control=control, rollback=rollback).url) as client:
        assert client.swap(usersTopic="users_v2", joinType="inner") == {"result": "accepted"}
        assert client.rollback() == {"result": "rolled back"}
        assert client.status()["publication"] == 0
    assert messages == [{"usersTopic": "users_v2", "joinType": "inner"}, "rollback"]


def test_a_server_without_control(client: Client) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        client.rollback()
    assert refused.value.condition == "CONTROL_DISABLED"


def test_a_closed_client(server: LiveServer) -> None:
    with Client(server.url) as client:
        pass
    client.close()
    with pytest.raises(ClientClosedError):
        client.tables()
    with pytest.raises(ClientClosedError):
        client.table("people").watch()


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("127.0.0.1:10000", None),
        ("ws://127.0.0.1", None),
        ("http://", None),
        ("http://user:secret@127.0.0.1", None),
        ("http://127.0.0.1/?token=secret", None),
        ("http://127.0.0.1", ""),
        ("http://127.0.0.1", "secret\r\nHost: elsewhere"),
        ("http://127.0.0.1", "a secret"),
        ("http://127.0.0.1", "secrét"),
    ],
)
def test_invalid_addresses_and_tokens(url: str, token: str | None) -> None:
    """The error does not quote the value, which may hold a secret."""
    with pytest.raises(AddressError) as wrong:
        Client(url, token)
    assert "secret" not in str(wrong.value)


def test_an_invalid_certificate_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(AddressError, match="PEM"):
        Client("https://127.0.0.1", ca=tmp_path / "ca.pem")


def test_an_address_may_end_in_a_slash_and_have_a_path() -> None:
    assert Address("https://example.com/tables/").websocket == "wss://example.com/tables/ws"
