"""Connections: frames of every length, and viewers that do not read, break off, or never start."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.live.samples import USERS, catalog_of, numbered, settings
from tests.server.conftest import Serve
from tests.server.raw import CLOSE, HEAD, PING, RawSocket, framed
from tests.server.viewers import Viewer, live
from tests.waiting import wait_until
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from evertable.live.hub import Hub
from evertable.server import run, uvicorn_internals
from evertable.server import socket as socket_module
from evertable.server.operations import resident_bytes
from evertable.server.socket import EXTENSION, Socket
from evertable.server.uvicorn_internals import WebSocketProtocol
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.views.view import View

SIZES = [0, 1, 124, 125, 126, 127, 65_534, 65_535, 65_536, 65_537, 1_000_000]


class Sized:
    """An endpoint that writes frames of these sizes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept", "subprotocol": "evertable.v1"})
        wire = scope["extensions"][EXTENSION]
        for size in SIZES:
            for first in {0, min(size, 100), size}:
                await wire.drain()
                await wire.write(b"x" * first, b"y" * (size - first))
        await receive()


def test_frames_of_every_length_arrive_whole(serve: Serve, catalog: Catalog) -> None:
    """Including the limits of the three encodings of a length."""
    server = serve(catalog, websocket=Sized())
    url = server.url.replace("http", "ws") + "/ws"
    with connect(url, subprotocols=[Subprotocol("evertable.v1")], max_size=None, compression=None) as viewer:
        for size in SIZES:
            for first in {0, min(size, 100), size}:
                assert viewer.recv(timeout=30) == "x" * first + "y" * (size - first)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (uvicorn_internals, socket_module):
        monkeypatch.setattr(module, "CLOSE_S", 0.1)


class Stalling:
    """A server whose pages fill all buffers, and viewers that do not read."""

    def __init__(self, serve: Serve) -> None:
        self.rows = BoundedTable(USERS, 20_000)
        self.change(0)
        self.server, self.hub, self.sockets = live(serve, catalog_of(users_ui=self.rows))

    def change(self, number: int) -> None:
        self.rows.put({i: (f"u{i}", "x" * 8_000, number) for i in range(700)})

    @contextlib.contextmanager
    def stalled(self, count: int = 1) -> Iterator[list[RawSocket]]:
        with contextlib.ExitStack() as opened:
            found = [opened.enter_context(RawSocket(self.server.port)) for _ in range(count)]
            for viewer in found:
                viewer.send(type="subscribe", id="a", table="users_ui", view={"limit": 1_000})
            wait_until(lambda: self.hub.sent["page"] == count)
            self.change(1)
            wait_until(lambda: self.sockets.blocked == count)
            yield found


@pytest.fixture
def stalling(serve: Serve) -> Stalling:
    return Stalling(serve)


@pytest.mark.parametrize(
    "ending",
    [framed(b"not json"), framed(b"\x03\xe8", CLOSE), b"\xff" * 20, framed(b"\xff\xfe"), framed(b"x" * 70_000)],
    ids=["bad", "close", "garbage", "no UTF-8", "too long"],
)
@pytest.mark.usefixtures("hasty")
def test_a_stalled_viewer_that_breaks_off_is_removed(
    stalling: Stalling, lost: list[WebSocketProtocol], ending: bytes
) -> None:
    """Its connection ends, whatever it sent last, although it reads no response."""
    with stalling.stalled() as (viewer,):
        viewer.socket.sendall(ending)
        wait_until(lambda: lost and not len(stalling.sockets))
        assert (stalling.hub.views, stalling.hub.subscriptions) == (0, 0)


@pytest.mark.usefixtures("hasty")
def test_a_silent_viewer_is_removed(
    serve: Serve, lost: list[WebSocketProtocol], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection is open, but nobody reads at the other end."""
    monkeypatch.setattr(run, "PING_INTERVAL_S", 0.1)
    monkeypatch.setattr(run, "PING_TIMEOUT_S", 2)
    stalling = Stalling(serve)
    with Viewer(stalling.server.url) as lively, stalling.stalled():
        lively.subscribe("users_ui", limit=1)
        wait_until(lambda: lost and len(stalling.sockets) == 1)
        lively.settle(1)
        assert stalling.hub.subscriptions == 1


def test_a_frame_in_pieces_is_assembled(serve: Serve, catalog: Catalog) -> None:
    """Pieces of any size, and fragments with a ping in between."""
    server, *_ = live(serve, catalog)
    whole = framed(json.dumps({"type": "ping", "tag": 7}).encode())
    with RawSocket(server.port) as slow, Viewer(server.url) as other:
        for byte in whole[:-1]:
            slow.socket.sendall(bytes([byte]))
        other.settle(1)
        slow.socket.sendall(whole[-1:])
        assert slow.socket.recv(100) == b'\x81\x17{"type":"pong","tag":7}'
        begun, rest = b'{"type":"pi', b'ng","tag":8}'
        slow.socket.sendall(bytes((0x01, 0x80 | len(begun))) + bytes(4) + begun + framed(b"between", PING))
        slow.socket.sendall(bytes((0x80, 0x80 | len(rest))) + bytes(4) + rest)
        seen = b""
        while b'"tag":8' not in seen:
            seen += slow.socket.recv(100)
        assert seen == b'\x8a\x07between\x81\x17{"type":"pong","tag":8}'


def test_a_flood_of_pings_costs_nothing(serve: Serve, catalog: Catalog) -> None:
    """The viewer does not read; the last ones are answered when it does."""
    server, *_ = live(serve, catalog)
    flood, sent = framed(b"x" * 125, PING) * 2_000, 0
    with RawSocket(server.port) as flooding, Viewer(server.url) as other:
        before = resident_bytes()
        while sent < 60_000_000:
            flooding.socket.sendall(flood)
            sent += len(flood)
        flooding.socket.sendall(framed(b"last", PING))
        other.settle(1)
        assert resident_bytes() - before < 20_000_000
        seen = b""
        while not seen.endswith(b"\x8a\x04last"):
            seen = seen[-10:] + flooding.socket.recv(100_000)


def test_no_response_is_made_for_a_viewer_that_does_not_read(serve: Serve, catalog: Catalog) -> None:
    """Its requests wait in the network, at no cost for the server."""
    server, *_ = live(serve, catalog)
    request = framed(json.dumps({"type": "subscribe", "id": "a", "table": "x" * 60_000}).encode())
    with RawSocket(server.port, timeout_s=2) as flooding, Viewer(server.url) as other:
        before = resident_bytes()
        with pytest.raises(TimeoutError):
            flooding.socket.sendall(request * 2_000)
        other.settle(1)
        assert resident_bytes() - before < 20_000_000


class Unwilling:
    """A transport that accepts nothing, with the pongs for pings in two chunks."""

    def __init__(self) -> None:
        self.written = b""
        self.pongs = [b"one two", b"", b"three", b""]

    def write(self, data: bytes) -> None:
        self.written += data

    def data_to_send(self) -> list[bytes]:
        return [self.pongs.pop(0)]


def test_only_the_last_pings_are_answered_when_the_viewer_reads() -> None:
    """All pings of the last chunk are answered, since the protocol does so; earlier ones are not."""
    wire, transport = WebSocketProtocol.__new__(WebSocketProtocol), Unwilling()
    wire.conn = wire.transport = transport  # type: ignore[assignment]
    wire.writable, wire.close_sent = asyncio.Event(), False
    for _ in range(4):
        wire.handle_ping()
    assert transport.written == b""
    wire.resume_writing()
    assert transport.written == b"three"
    transport.pongs = [b"now"]
    wire.handle_ping()
    assert transport.written == b"threenow"


class Nowhere:
    """A writer that discards everything."""

    async def drain(self) -> None:
        pass

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        pass


class Valve:
    """A writer that takes frames while ``is_open`` is set."""

    def __init__(self) -> None:
        self.is_open, self.waiting, self.taken = asyncio.Event(), asyncio.Event(), list[str]()
        self.is_open.set()

    async def drain(self) -> None:
        self.waiting.set()
        await self.is_open.wait()

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        self.taken.append(json.loads(start + rest)["type"])


def test_a_viewer_that_unsubscribes_while_it_takes_nothing_stays_connected(catalog: Catalog) -> None:
    """The only update that waits for it is dropped."""

    async def scenario() -> None:
        messages, writer, sent = asyncio.Queue[Message](), Valve(), list[str]()

        async def send(message: Message) -> None:
            sent.append(message["type"])

        async def until(condition: Callable[[], object]) -> None:
            async with asyncio.timeout(30):
                while not condition():
                    await asyncio.sleep(0.001)

        def ask(**frame: Any) -> None:
            messages.put_nowait({"type": "websocket.receive", "text": json.dumps(frame)})

        hub = Hub(catalog, settings())
        async with hub.running():
            socket = asyncio.create_task(Socket(hub, messages.get, send, writer).run())
            messages.put_nowait({"type": "websocket.connect"})
            await until(lambda: writer.taken == ["welcome"])
            writer.is_open.clear()
            writer.waiting.clear()
            ask(type="subscribe", id="a", table="users_ui")
            await writer.waiting.wait()
            ask(type="unsubscribe", id="a")
            await until(lambda: not hub.subscriptions)
            writer.is_open.set()
            ask(type="ping")
            await until(lambda: socket.done() or "pong" in writer.taken)
            messages.put_nowait({"type": "websocket.disconnect"})
            await socket
            assert (sent, writer.taken) == (["websocket.accept"], ["welcome", "pong"])

    asyncio.run(scenario())


def test_other_tasks_run_between_two_requests(catalog: Catalog) -> None:
    """Although thousands are queued, and each is answered without waiting."""
    requests = iter(
        [{"type": "websocket.connect"}]
        + [{"type": "websocket.receive", "text": '{"type": "ping"}'}] * 1_000
        + [{"type": "websocket.disconnect"}]
    )
    turns = 0

    async def receive() -> Any:
        return next(requests)

    async def send(message: Any) -> None:
        assert message["type"] == "websocket.accept"

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def scenario() -> None:
        hub = Hub(catalog, settings())
        async with hub.running():
            beside = asyncio.create_task(other())
            await Socket(hub, receive, send, Nowhere()).run()
            beside.cancel()

    asyncio.run(scenario())
    assert turns >= 1_000


def test_requests_are_answered_in_turn(serve: Serve) -> None:
    """Thousands from one viewer do not delay another one."""
    rows = BoundedTable(USERS, 10_000)
    rows.put(dict(enumerate(numbered(2_000))))
    server, hub, _ = live(serve, catalog_of(users_ui=rows))
    count = 2_000
    flood = b"".join(
        framed(json.dumps({"type": "view", "id": "a", "tag": n, "view": {"limit": 1_000, "offset": n % 997}}).encode())
        for n in range(1, count + 1)
    )
    with Viewer(server.url) as greedy, Viewer(server.url) as other:
        picture = greedy.subscribe("users_ui")
        attached: list[int] = []
        attach = hub.attach

        def counted(*args: Any) -> Any:
            attached.append(1)
            return attach(*args)

        hub.attach = counted  # type: ignore[method-assign, assignment]
        greedy.socket.socket.sendall(flood)
        other.settle(1)
        assert len(attached) < count
        greedy.until(lambda: picture.page["tag"] == count)
        assert picture.rows == [list(row) for row in numbered(2_000)[count % 997 :][:1_000]]
        assert (hub.views, hub.subscriptions) == (1, 1)


def test_views_of_a_viewer_that_does_not_read_do_not_accumulate(stalling: Stalling) -> None:
    """The viewer has made a thousand changes and subscriptions."""
    hub, sockets, limits = stalling.hub, stalling.sockets, list[int]()
    attach = hub.attach

    def noted(name: str, view: View, *more: Any) -> None:
        attach(name, view, *more)
        limits.append(view.limit)

    hub.attach = noted  # type: ignore[method-assign, assignment]
    with stalling.stalled() as (viewer,):
        for n in range(1_000):
            viewer.send(type="view", id="a", tag=n, view={"limit": 2, "offset": n})
            viewer.send(type="subscribe", id=f"b{n}", table="users_ui", view={"limit": 1})
            viewer.send(type="unsubscribe", id=f"b{n}")
        viewer.send(type="subscribe", id="end", table="users_ui", view={"limit": 3})
        wait_until(lambda: 3 in limits)
        assert sum(len(one._pending) for one in sockets._open) <= 2
        assert hub.subscriptions == 2
    wait_until(lambda: not len(sockets))


def test_a_connection_without_a_request_is_closed(
    serve: Serve, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has sent no head, half of one, or half of a second one; a timely request is served."""
    monkeypatch.setattr(uvicorn_internals, "HEAD_S", 0.5)
    server, *_ = live(serve, catalog)
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for first, second in [(b"", b""), (b"", HEAD[:-2]), (whole, HEAD[:-2])]:
        with socket.create_connection(("127.0.0.1", server.port), 30) as silent:
            silent.sendall(first)
            if first:
                assert silent.recv(12) == b"HTTP/1.1 200"
            silent.sendall(second)
            with contextlib.suppress(ConnectionResetError):
                while silent.recv(1_000):
                    pass
    with httpx.Client() as patient, Viewer(server.url) as viewer:
        assert patient.get(f"{server.url}/healthz").status_code == 200
        viewer.subscribe("users_ui")
        start = time.monotonic()
        wait_until(lambda: time.monotonic() > start + 1)  # longer than HEAD_S
        viewer.settle(1)
        assert patient.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.timeout(120)
def test_the_server_stops_with_many_stalled_viewers(stalling: Stalling, lost: list[WebSocketProtocol]) -> None:
    """It does not wait for them, and no connection is left."""
    with stalling.stalled(200):
        stalling.server.stop()
        assert len(lost) == 200
