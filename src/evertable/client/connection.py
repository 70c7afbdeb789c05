"""A connection that follows one subscription and heals by itself."""

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
from evertable.client.following import Following
from evertable.client.retry import FIRST_DELAY_S, MOST_DELAY_S, Heartbeat, final
from evertable.client.state import ConnectionState, Machine
from evertable.protocol.frames import SUBPROTOCOL
from evertable.protocol.page import Page

MAX_PAGE_BYTES = 2**28
CLOSE_S = 1.0  # that a server gets to say goodbye

_log = logging.getLogger("evertable.client.websocket")
_log.setLevel(logging.INFO)  # at DEBUG the library would write out the headers, and the token with them


class Socket(Protocol):
    """What is needed of a WebSocket."""

    @property
    def subprotocol(self) -> str | None: ...

    async def send(self, message: str) -> None: ...

    async def recv(self) -> str | bytes: ...


Connect = Callable[[], AbstractAsyncContextManager[Socket]]


def websocket(address: Address, timeout_s: float) -> Connect:
    """Opens WebSockets to that address."""
    return lambda: connect(
        address.websocket,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        additional_headers=address.headers,
        user_agent_header=None,
        ssl=address.tls,
        open_timeout=timeout_s,
        close_timeout=CLOSE_S,
        ping_interval=None,  # the heartbeat does that, and says what it found
        compression=None,  # costs the server more than it saves here
        max_size=MAX_PAGE_BYTES,
        logger=_log,
    )


class Connection:
    """Subscribes, hands pages on, and connects again for ever once it has been there; see :class:`State`.

    Everything that takes time is given, so that tests need not wait: ``heartbeat``, ``delays``, ``sleep``, ``clock``.
    """

    def __init__(
        self,
        open_socket: Connect,
        following: Following,
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
        self._following = following
        self._address = address
        self._on_page = on_page
        self._machine = Machine(on_state)
        self._heartbeat = heartbeat
        self._delays = delays
        self._sleep = sleep
        self._clock = clock
        self._reached = False

    async def run(self) -> None:
        """Follows until it is cancelled; raises only what trying again cannot help."""
        try:
            waits = self._delays()
            while True:
                was_live = await self._try()
                waits = self._delays() if was_live else waits
                await self._sleep(next(waits))
                self._machine.to(ConnectionState.CONNECTING)
        finally:
            if self._machine.state is not ConnectionState.FAILED:
                self._machine.to(ConnectionState.CLOSED)

    async def _try(self) -> bool:
        """One socket from its opening to its loss; whether a page came on it."""
        try:
            async with self._open_socket() as socket:
                await self._follow(socket)
        except Exception as error:
            was_live = self._machine.state is ConnectionState.LIVE
            if problem := final(error, self._address, reached=self._reached):
                self._machine.to(ConnectionState.FAILED)
                raise problem from (None if problem is error else error)
            self._machine.to(ConnectionState.LOST)
            return was_live
        raise AssertionError("a socket is followed until it fails")

    async def _follow(self, socket: Socket) -> None:
        if socket.subprotocol != SUBPROTOCOL:
            what = f"{self._address} does not speak {SUBPROTOCOL}."
            raise ServerAnswerError(what, "Is it an Evertable server, and a proxy before it made for WebSockets?")
        self._reached = True
        self._machine.to(ConnectionState.SUBSCRIBING)
        await socket.send(self._following.subscribe())
        heartbeat = self._heartbeat(self._clock())
        while True:
            if heartbeat.is_dead(self._clock()):
                raise ConnectionError("no sign of life")
            if heartbeat.is_due(self._clock()):
                heartbeat.pinged(self._clock())
                await socket.send(self._following.ping())
            try:
                async with asyncio.timeout(heartbeat.wait_s(self._clock())):
                    frame = await socket.recv()
            except TimeoutError:
                continue
            heartbeat.heard(self._clock())
            if page := self._following.receive(frame):
                if self._machine.state is not ConnectionState.LIVE:
                    self._machine.to(ConnectionState.LIVE)
                self._on_page(page)
