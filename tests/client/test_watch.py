"""Watches on a real server: changes, swaps, restarts, and a clean end."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.client.frames import ADA as ADA_SHORT
from tests.client.frames import page_frame
from tests.client.live_server import ADA, BOB, LiveServer, StartServer
from tests.waiting import wait_until
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from evertable.client import (
    Client,
    ClientClosedError,
    ConnectionState,
    Page,
    ServerRefusedError,
    ServerUnreachableError,
    Watch,
)
from evertable.client.address import Address
from evertable.client.connection import Connection, websocket
from evertable.client.receiver import PageReceiver
from evertable.protocol.frames import SUBPROTOCOL, Subscribe, parse
from evertable.schema.columns import parse_columns
from evertable.tables.bounded import BoundedTable
from evertable.views.view import View


def until(watch: Iterable[Page], condition: Callable[[Page], bool]) -> Page:
    """Returns the first page that meets the condition."""
    return next(page for page in watch if condition(page))


def watching() -> bool:
    return any(thread.name == "evertable-client" for thread in threading.enumerate())


def test_a_page_after_every_change(client: Client, server: LiveServer) -> None:
    with client.table("people").watch(columns=["name", "views"]) as watch:
        assert next(watch).rows == (("Ada", 2**60), ("Bob", -1))
        wait_until(lambda: watch.state is ConnectionState.LIVE)
        server.people.put({"bob": ("Bob", None, 7, *BOB[3:])})
        assert until(watch, lambda page: page.rows[1] == ("Bob", 7)).version == 2
        server.people.append([ADA])
        page = until(watch, lambda page: page.total == 3)
        assert page.rows == (("Ada", 2**60), ("Bob", 7), ("Ada", 2**60))
    assert watch.state is ConnectionState.CLOSED


def test_views(client: Client, server: LiveServer) -> None:
    view = {"columns": ["name"], "sort": ["-name"], "filter": "name != 'Bob'", "limit": 2}
    with client.table("people").watch(**view) as watch:  # type: ignore[arg-type]
        assert next(watch).rows == (("Ada",),)
        server.people.append([("Zoe", *ADA[1:]), ("Eve", *ADA[1:])])
        assert until(watch, lambda page: page.total == 3).rows == (("Zoe",), ("Eve",))


def test_swaps(client: Client, server: LiveServer) -> None:
    """A watch starts before the first generation, and gets the columns of the next one."""
    first, second = BoundedTable(parse_columns({"a": "int"}), 10), BoundedTable(parse_columns({"b": "date"}), 10)
    first.append([(1,)])
    with client.table("later").watch() as watch:
        assert watch.poll(0) is None
        wait_until(lambda: watch.state is ConnectionState.SUBSCRIBING)
        server.catalog.publish(1, {"later": first})
        page = next(watch)
        assert (page.generation, page.rows) == (1, ((1,),))
        server.catalog.publish(2, {"later": second})
        page = next(watch)
        assert (page.generation, [column.name for column in page.columns], page.rows) == (2, ["b"], ())


def test_a_restart_of_the_server(client: Client, server: LiveServer) -> None:
    """The watch reconnects with the same view."""
    with client.table("people").watch(columns=["name"], newest_first=True) as watch:
        assert next(watch).rows == (("Bob",), ("Ada",))
        server.stop()
        wait_until(lambda: watch.state in (ConnectionState.LOST, ConnectionState.CONNECTING))
        assert watch.poll(0) is None
        server.people.append([("Eve", *ADA[1:])])
        server.start()
        assert until(watch, lambda page: page.total == 3).rows == (("Eve",), ("Bob",), ("Ada",))
        assert watch.state is ConnectionState.LIVE


def test_a_full_server_is_retried(start_server: StartServer) -> None:
    with Client(start_server({"max_sockets": 1}).url) as client, client.table("people").watch() as first:
        next(first)
        with client.table("people").watch() as second:
            wait_until(lambda: second.state is ConnectionState.LOST)
            first.close()
            assert next(second).total == 2


def test_a_server_that_does_not_answer() -> None:
    """A port that accepts connections and sends nothing is unreachable."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Client(url, timeout_s=0.1) as client:
            with pytest.raises(ServerUnreachableError):
                next(client.table("people").watch())
            with pytest.raises(ServerUnreachableError):
                client.tables()


def test_a_silent_connection_is_replaced() -> None:
    """A socket that answers no pings is replaced."""
    accepted, over = threading.Semaphore(0), threading.Event()

    def handle(socket: ServerConnection) -> None:
        subscribe = parse(str(socket.recv()))
        assert isinstance(subscribe, Subscribe)
        socket.send(page_frame(ADA_SHORT, tag=subscribe.tag), text=True)
        accepted.release()
        over.wait()

    with serve(handle, "127.0.0.1", 0, subprotocols=[Subprotocol(SUBPROTOCOL)]) as silent:
        thread = threading.Thread(target=silent.serve_forever)
        thread.start()
        address = Address(f"http://127.0.0.1:{silent.socket.getsockname()[1]}")
        receiver = PageReceiver("t", View())
        connection = Connection(websocket(address, 5), receiver, address.url, ping_s=0.02, silence_s=0.1)
        with Watch(connection) as watch:
            assert next(watch).total == 2
            assert accepted.acquire(timeout=30)
            assert accepted.acquire(timeout=30)
        over.set()
        silent.shutdown()
        thread.join()


def test_a_view_that_is_refused(client: Client) -> None:
    """The refusal is raised once and ends the watch."""
    watch = client.table("people").watch(filter="nose = 1")
    with pytest.raises(ServerRefusedError) as refused:
        next(watch)
    assert refused.value.condition == "FILTER_INVALID"
    assert watch.state is ConnectionState.FAILED
    assert list(watch) == []
    watch.close()


def test_large_pages(client: Client, server: LiveServer) -> None:
    """One cell changes in a page of several megabytes."""
    names = ["x" * 300 + str(i) for i in range(9_998)]
    server.people.append([(name, *ADA[1:]) for name in names])
    with client.table("people").watch(limit=10_000) as watch:
        assert [row[0] for row in next(watch).rows[2:]] == names
        server.people.put({"bob": ("Rob", *BOB[1:])})
        assert until(watch, lambda page: page.rows[1][0] == "Rob").total == 10_000


def test_no_thread_before_the_first_page_is_requested(client: Client) -> None:
    watch = client.table("people").watch()
    assert not watching()
    watch.close()
    assert list(watch) == []
    assert watch.state is ConnectionState.CLOSED


def test_an_abandoned_watch_is_closed(client: Client, server: LiveServer) -> None:
    """Leaving the loop is enough."""
    for page in client.table("people").watch():
        assert page.total == 2
        break
    del page
    gc.collect()
    wait_until(lambda: not watching())
    wait_until(lambda: len(server.sockets) == 0)


def test_closing_ends_a_wait(client: Client) -> None:
    """Another thread can close the watch or its client."""
    for close in (lambda watch: watch.close(), lambda watch: client.close()):
        watch = client.table("people").watch()
        next(watch)
        with ThreadPoolExecutor(1) as pool:
            rest = pool.submit(list, watch)
            close(watch)
            assert rest.result() == []
        assert not watching()
    with pytest.raises(ClientClosedError):
        watch.poll(0)


def test_many_watches_end_with_their_client(client: Client, server: LiveServer) -> None:
    watches = [client.table("people").watch() for _ in range(5)]
    assert [next(watch).total for watch in watches] == [2] * 5
    client.close()
    assert not watching()
    wait_until(lambda: len(server.sockets) == 0)


class Scripted(Connection):
    """Reports pages, then raises an error if there is one."""

    def __init__(self, *pages: Page, error: Exception | None = None) -> None:
        super().__init__(websocket(Address(), 5), PageReceiver("t", View()), "http://here")
        self._pages = pages
        self._error = error
        self.ended = threading.Event()

    async def run(self, on_page: Callable[[Page], None]) -> None:
        for page in self._pages:
            on_page(page)
        self.ended.set()
        if self._error:
            raise self._error
        await asyncio.Event().wait()


def a_page(version: int) -> Page:
    return Page("t", 1, 1, version, 0, 0, (), ())


def test_a_slow_reader_gets_the_newest_page_only() -> None:
    connection = Scripted(a_page(1), a_page(2))
    with Watch(connection) as watch:
        connection.ended.wait()
        assert watch.poll(None) == a_page(2)
        assert watch.poll(0) is None


def test_the_last_page_comes_before_the_error() -> None:
    """The error is raised once."""
    with Watch(Scripted(a_page(1), error=ZeroDivisionError())) as watch:
        wait_until(lambda: not watching())
        assert watch.poll(None) == a_page(1)
        with pytest.raises(ZeroDivisionError):
            watch.poll(None)
        with pytest.raises(ClientClosedError):
            watch.poll(None)
