"""Keeps one subscription connected."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from evertable.backoff import Delays, exponential
from evertable.client.address import Address
from evertable.client.errors import ServerAnswerError
from evertable.client.receiver import PageReceiver
from evertable.client.retry import FIRST_DELAY_S, MOST_DELAY_S, Heartbeat, permanent_failure
from evertable.client.state import ConnectionState, StateMachine
from evertable.protocol.frames import SUBPROTOCOL
from evertable.protocol.page import Page

MAX_PAGE_BYTES = 2**28
CLOSE_S = 1.0  # for the closing handshake

_log = logging.getLogger("evertable.client.websocket")
_log.setLevel(logging.INFO)  # at DEBUG the library logs headers, which hold the token


class Socket(Protocol):
    """The part of a WebSocket that a connection uses."""

    @property
    def subprotocol(self) -> str | None: ...

    async def send(self, message: str) -> None: ...

    async def recv(self) -> str | bytes: ...


Connect = Callable[[], AbstractAsyncContextManager[Socket]]


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
    """Subscribes and reports pages, and reconnects whenever the connection is lost; see :class:`ConnectionState`.

    Tests replace everything that takes time: ``heartbeat``, ``delays``, ``sleep`` and ``clock``.
    """

    def __init__(
        self,
        open_socket: Connect,
        receiver: PageReceiver,
        address: str,
        on_page: Callable[[Page], None],
        on_state: Callable[[ConnectionState], None] = lambda state: None,
        *,
        heartbeat: Callable[[float], Heartbeat] = Heartbeat,
        delays: Delays = lambda: exponential(FIRST_DELAY_S, max_s=MOST_DELAY_S),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_socket = open_socket
        self._receiver = receiver
        self._address = address
        self._on_page = on_page
        self._machine = StateMachine(on_state)
        self._heartbeat = heartbeat
        self._delays = delays
        self._sleep = sleep
        self._clock = clock
        self._was_reached = False

    async def run(self) -> None:
        """Runs until it is cancelled; raises only errors that a retry cannot help."""
        try:
            waits = self._delays()
            while True:
                was_live = await self._connect_once()
                waits = self._delays() if was_live else waits
                await self._sleep(next(waits))
                self._machine.move_to(ConnectionState.CONNECTING)
        finally:
            if self._machine.state is not ConnectionState.FAILED:
                self._machine.move_to(ConnectionState.CLOSED)

    async def _connect_once(self) -> bool:
        """Opens a socket and reads it until it is lost; returns whether a page arrived."""
        try:
            async with self._open_socket() as socket:
                await self._receive_pages(socket)
        except Exception as error:
            was_live = self._machine.state is ConnectionState.LIVE
            if problem := permanent_failure(error, self._address, reached=self._was_reached):
                self._machine.move_to(ConnectionState.FAILED)
                raise problem from (None if problem is error else error)
            self._machine.move_to(ConnectionState.LOST)
            return was_live
        raise AssertionError("a socket is read until it fails")

    async def _receive_pages(self, socket: Socket) -> None:
        if socket.subprotocol != SUBPROTOCOL:
            what = f"{self._address} does not speak {SUBPROTOCOL}."
            raise ServerAnswerError(what, "Is it an Evertable server, and does the proxy before it support WebSockets?")
        self._was_reached = True
        self._machine.move_to(ConnectionState.SUBSCRIBING)
        await socket.send(self._receiver.subscribe())
        heartbeat = self._heartbeat(self._clock())
        while True:
            if heartbeat.is_dead(self._clock()):
                raise ConnectionError("the server stopped answering")
            if heartbeat.is_ping_due(self._clock()):
                heartbeat.ping_sent(self._clock())
                await socket.send(self._receiver.ping())
            try:
                async with asyncio.timeout(heartbeat.wait_s(self._clock())):
                    frame = await socket.recv()
            except TimeoutError:
                continue
            heartbeat.received(self._clock())
            if page := self._receiver.receive(frame):
                if self._machine.state is not ConnectionState.LIVE:
                    self._machine.move_to(ConnectionState.LIVE)
                self._on_page(page)
