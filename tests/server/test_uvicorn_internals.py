"""Each non-public symbol of uvicorn, h11 and websockets that the server relies on: an upgrade fails here first."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import h11
import pytest
import uvicorn
from uvicorn import server as uvicorn_server
from uvicorn.protocols.http import h11_impl
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets import websockets_sansio_impl
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets import server as websockets_server
from websockets.http11 import Response
from websockets.server import ServerProtocol

from evertable.server import uvicorn_internals
from evertable.server.uvicorn_internals import (
    FALSE_ALARMS,
    Handshake,
    HttpProtocol,
    UvicornServer,
    WebSocketProtocol,
    frame_head,
)

MODULES = sorted(Path(uvicorn_internals.__file__).parent.glob("*.py"))
HTTP_ATTRIBUTES = ("app_state", "client", "conn", "cycle", "loop", "scope", "transport")
WEBSOCKET_ATTRIBUTES = (
    "app_state",
    "client",
    "close_sent",
    "conn",
    "disconnected",
    "handshake_initiated",
    "logger",
    "loop",
    "transport",
    "writable",
)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Makes an event loop for idle connections."""
    with closing(asyncio.new_event_loop()) as created:
        yield created


def config() -> uvicorn.Config:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    return uvicorn.Config(app, http=HttpProtocol, ws=WebSocketProtocol, log_config=None)


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("ours", "theirs", "method"),
    [
        (HttpProtocol, H11Protocol, "connection_made"),
        (HttpProtocol, H11Protocol, "connection_lost"),
        (HttpProtocol, H11Protocol, "handle_events"),
        (HttpProtocol, H11Protocol, "on_response_complete"),
        (HttpProtocol, H11Protocol, "send_400_response"),
        (HttpProtocol, H11Protocol, "_unsupported_upgrade_warning"),
        (WebSocketProtocol, WebSocketsSansIOProtocol, "handle_connect"),
        (WebSocketProtocol, WebSocketsSansIOProtocol, "data_received"),
        (WebSocketProtocol, WebSocketsSansIOProtocol, "handle_ping"),
        (WebSocketProtocol, WebSocketsSansIOProtocol, "resume_writing"),
        (WebSocketProtocol, WebSocketsSansIOProtocol, "keepalive_timeout"),
        (WebSocketProtocol, WebSocketsSansIOProtocol, "run_asgi"),
        (WebSocketProtocol, WebSocketsSansIOProtocol, "connection_lost"),
        (Handshake, ServerProtocol, "process_subprotocol"),
        (Handshake, ServerProtocol, "reject"),
        (UvicornServer, uvicorn.Server, "startup"),
        (UvicornServer, uvicorn.Server, "shutdown"),
        (UvicornServer, uvicorn.Server, "capture_signals"),
    ],
)
def test_a_method_that_is_overridden(ours: type, theirs: type, method: str) -> None:
    """It exists with the same parameters, and is async or not as ours is."""
    overriding, overridden = vars(ours)[method], vars(theirs)[method]
    assert parameters(overriding) == parameters(overridden)
    assert inspect.iscoroutinefunction(overriding) == inspect.iscoroutinefunction(overridden)


@pytest.mark.parametrize(
    ("module", "method"),
    [
        (h11_impl, "handle_events"),
        (h11_impl, "on_response_complete"),
        (h11_impl, "send_400_response"),
        (h11_impl, "_unsupported_upgrade_warning"),
        (websockets_sansio_impl, "handle_connect"),
        (websockets_sansio_impl, "handle_ping"),
        (websockets_sansio_impl, "keepalive_timeout"),
        (websockets_sansio_impl, "run_asgi"),
        (websockets_server, "process_subprotocol"),
        (websockets_server, "reject"),
        (uvicorn_server, "startup"),
        (uvicorn_server, "shutdown"),
        (uvicorn_server, "capture_signals"),
    ],
)
def test_an_overridden_method_is_called(module: ModuleType, method: str) -> None:
    assert f"self.{method}" in inspect.getsource(module)


@pytest.mark.parametrize("attribute", HTTP_ATTRIBUTES)
def test_an_attribute_of_http_connections(attribute: str, loop: asyncio.AbstractEventLoop) -> None:
    assert hasattr(HttpProtocol(config(), ServerState(), {}, loop), attribute)


@pytest.mark.parametrize("attribute", ["disconnected", "message_event"])
def test_an_attribute_of_http_requests(attribute: str) -> None:
    assert f"self.{attribute} = " in inspect.getsource(h11_impl.RequestResponseCycle)


@pytest.mark.parametrize("attribute", WEBSOCKET_ATTRIBUTES)
def test_an_attribute_of_websocket_connections(attribute: str, loop: asyncio.AbstractEventLoop) -> None:
    assert hasattr(WebSocketProtocol(config(), ServerState(), {}, loop), attribute)


def test_the_scope_of_a_websocket_is_kept_with_its_extensions() -> None:
    source = inspect.getsource(WebSocketsSansIOProtocol.handle_connect)
    assert "self.scope" in source
    assert '"extensions"' in source


def test_both_kinds_of_connections_are_made_by_the_server() -> None:
    """uvicorn uses the protocol classes of the configuration."""
    chosen = config()
    chosen.load()
    assert (chosen.http_protocol_class, chosen.ws_protocol_class) == (HttpProtocol, WebSocketProtocol)
    for theirs in (H11Protocol, WebSocketsSansIOProtocol):
        assert parameters(theirs) == ["config", "server_state", "app_state", "_loop"]


@pytest.mark.parametrize("attribute", ["server_state", "should_exit"])
def test_an_attribute_of_the_server(attribute: str) -> None:
    assert hasattr(uvicorn.Server(config()), attribute)


@pytest.mark.parametrize("attribute", ["connections", "tasks"])
def test_an_attribute_of_the_servers_state(attribute: str) -> None:
    assert isinstance(getattr(ServerState(), attribute), set)


@pytest.mark.parametrize("attribute", ["handshake_exc", "data_to_send", "accept", "send_response"])
def test_an_attribute_of_a_handshake(attribute: str) -> None:
    assert hasattr(Handshake(), attribute)


def test_a_rejected_handshake_has_a_content_type() -> None:
    """``Handshake.reject`` replaces it."""
    response = ServerProtocol().reject(400, "text")
    assert isinstance(response, Response)
    assert "Content-Type" in response.headers


def test_a_broken_handshake_leaves_its_exception_and_no_event() -> None:
    """``WebSocketProtocol.data_received`` answers it, because uvicorn does not."""
    handshake = Handshake()
    handshake.receive_data(b"GET / HTTP/1.1\r\nX: " + b"x" * 9_000 + b"\r\n\r\n")
    assert handshake.handshake_exc is not None
    assert list(handshake.events_received()) == []


def test_the_states_of_h11() -> None:
    """An error response can be sent before and while a response is due."""
    connection = h11.Connection(h11.SERVER)
    states = [connection.our_state]
    connection.receive_data(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    connection.next_event()
    assert [*states, connection.our_state] == [h11.IDLE, h11.SEND_RESPONSE]


def test_a_viewer_that_is_gone_is_an_os_error() -> None:
    """``FrameWriter.drain`` promises it."""
    assert issubclass(ClientDisconnected, OSError)


@pytest.mark.parametrize("message", sorted(FALSE_ALARMS))
def test_a_message_that_is_not_logged(message: str) -> None:
    modules = (h11_impl, websockets_sansio_impl, websockets_server)
    assert any(f'"{message}"' in inspect.getsource(module) for module in modules)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_other_module_imports_internals(path: Path) -> None:
    """The server's other modules use what uvicorn, websockets and h11 export at the top, and starlette's modules."""
    imported = re.findall(r"^(?:from|import) ((?:uvicorn|websockets|h11)\b[\w.]*)", path.read_text(), re.MULTILINE)
    allowed = {"uvicorn"} if path.name == "run.py" else set()
    assert path.name == "uvicorn_internals.py" or set(imported) <= allowed


def test_lengths_have_the_shortest_encoding() -> None:
    """RFC 6455, 5.2: a client may refuse others."""
    for size, length in [
        (125, b"\x7d"),
        (126, b"\x7e\x00\x7e"),
        (65_535, b"\x7e\xff\xff"),
        (65_536, b"\x7f" + (1 << 16).to_bytes(8)),
    ]:
        assert frame_head(size) == b"\x81" + length
