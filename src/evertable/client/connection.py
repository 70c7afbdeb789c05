"""Keeps one subscription connected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from enum import StrEnum
from typing import Protocol

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from evertable.backoff import Delays, exponential
from evertable.client.address import Address
from evertable.client.errors import ServerAnswerError
from evertable.client.receiver import PageReceiver
from evertable.client.retry import permanent_failure
from evertable.protocol.frames import SUBPROTOCOL
from evertable.protocol.page import Page

MAX_PAGE_BYTES = 2**28
CLOSE_S = 1.0  # for the closing handshake
PING_S = 5.0
SILENCE_S = 12.0  # after which a connection counts as dead
FIRST_DELAY_S = 0.05
MOST_DELAY_S = 5.0

_log = logging.getLogger("evertable.client.websocket")
_log.setLevel(logging.INFO)  # at DEBUG the library logs headers, which hold the token


class ConnectionState(StrEnum):
    """The state of a connection::

                    ┌───────────────── next try ─────────────────┐
                    ▼                                            │
        start ► connecting ──► subscribing ──► live ──────────► lost
                    │ │             │ │        │                 ▲
                    │ └─────────────┼─┴────────┼─────────────────┘
                    ▼               ▼          ▼
                  failed          failed     failed       all but failed ──► closed

    ``subscribing`` lasts until the first page arrives, ``lost`` until the next try. ``failed`` means that a retry
    cannot help: the server was never reached, or it refused the token or the view.
    """

    CONNECTING = "connecting"
    SUBSCRIBING = "subscribing"
    LIVE = "live"
    LOST = "lost"
    FAILED = "failed"
    CLOSED = "closed"


_ENDS = {ConnectionState.LOST, ConnectionState.FAILED, ConnectionState.CLOSED}
MOVES: dict[ConnectionState, frozenset[ConnectionState]] = {
    ConnectionState.CONNECTING: frozenset({ConnectionState.SUBSCRIBING, *_ENDS}),
    ConnectionState.SUBSCRIBING: frozenset({ConnectionState.LIVE, *_ENDS}),
    ConnectionState.LIVE: frozenset(_ENDS),
    ConnectionState.LOST: frozenset({ConnectionState.CONNECTING, ConnectionState.CLOSED}),
    ConnectionState.FAILED: frozenset(),
    ConnectionState.CLOSED: frozenset(),
}


class WebSocket(Protocol):
    """The part of a WebSocket that a connection uses."""

    @property
    def subprotocol(self) -> str | None: ...

    async def send(self, message: str) -> None: ...

    async def recv(self) -> str | bytes: ...


Connect = Callable[[], AbstractAsyncContextManager[WebSocket]]


def websocket(address: Address, timeout_s: float) -> Connect:
    """Returns a function that opens a WebSocket to the address."""
    return lambda: connect(
        address.websocket,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        additional_headers=address.headers,
        user_agent_header=None,
        ssl=address.tls,
        open_timeout=timeout_s,
        close_timeout=CLOSE_S,
        ping_interval=None,  # the heartbeat sends pings of the protocol
        compression=None,  # costs the server more than it saves here
        max_size=MAX_PAGE_BYTES,
        logger=_log,
    )


class Connection:
    """Subscribes and reports pages, and reconnects whenever the connection is lost.

    Tests replace everything that takes time: ``ping_s``, ``silence_s``, ``delays`` and ``sleep``.
    """

    def __init__(
        self,
        open_socket: Connect,
        receiver: PageReceiver,
        address: str,
        *,
        ping_s: float = PING_S,
        silence_s: float = SILENCE_S,
        delays: Delays = lambda: exponential(FIRST_DELAY_S, max_s=MOST_DELAY_S),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.state = ConnectionState.CONNECTING
        self._open_socket = open_socket
        self._receiver = receiver
        self._address = address
        self._ping_s = ping_s
        self._silence_s = silence_s
        self._delays = delays
        self._sleep = sleep
        self._was_reached = False

    def move_to(self, state: ConnectionState) -> None:
        """Changes the state; RuntimeError if the diagram of ConnectionState has no such move."""
        if state not in MOVES[self.state]:
            raise RuntimeError(f"a connection cannot go from {self.state} to {state}")
        self.state = state

    async def run(self, on_page: Callable[[Page], None]) -> None:
        """Runs until it is cancelled; raises only errors that a retry cannot help."""
        waits = self._delays()
        try:
            while True:
                try:
                    async with self._open_socket() as socket:
                        await self._receive_pages(socket, on_page)
                except Exception as error:
                    if problem := permanent_failure(error, self._address, reached=self._was_reached):
                        self.move_to(ConnectionState.FAILED)
                        raise problem from (None if problem is error else error)
                if self.state is ConnectionState.LIVE:
                    waits = self._delays()
                self.move_to(ConnectionState.LOST)
                await self._sleep(next(waits))
                self.move_to(ConnectionState.CONNECTING)
        finally:
            if self.state is not ConnectionState.FAILED:
                self.move_to(ConnectionState.CLOSED)

    async def _receive_pages(self, socket: WebSocket, on_page: Callable[[Page], None]) -> None:
        if socket.subprotocol != SUBPROTOCOL:
            what = f"{self._address} does not speak {SUBPROTOCOL}."
            raise ServerAnswerError(what, "Is it an Evertable server, and does the proxy before it support WebSockets?")
        self._was_reached = True
        self.move_to(ConnectionState.SUBSCRIBING)
        await socket.send(self._receiver.subscribe())
        pings = asyncio.create_task(self._send_pings(socket))
        try:
            while True:
                async with asyncio.timeout(self._silence_s):  # any frame proves that the connection is alive
                    frame = await socket.recv()
                if page := self._receiver.receive(frame):
                    if self.state is not ConnectionState.LIVE:
                        self.move_to(ConnectionState.LIVE)
                    on_page(page)
        finally:
            pings.cancel()

    async def _send_pings(self, socket: WebSocket) -> None:
        """Sends pings also while frames arrive: the server expects them."""
        with suppress(WebSocketException):  # the receiver handles a lost connection
            while True:
                await asyncio.sleep(self._ping_s)
                await socket.send(self._receiver.ping())
