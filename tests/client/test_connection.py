"""A connection subscribes, reports pages and reconnects, on scripted sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
from tests.client.frames import ADA, BOB, page_frame

from evertable.client.connection import Connection, ConnectionState, WebSocket
from evertable.client.errors import ServerAnswerError, ServerRefusedError, ServerUnreachableError
from evertable.client.receiver import PageReceiver
from evertable.errors import ColumnNotFoundError
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.protocol.frames import Ping, Request, Subscribe, parse
from evertable.protocol.page import Page
from evertable.views.view import View

Step = bytes | Exception
HANG = Exception("no more frames")
UNTIL_PING = Exception("no frame before the next ping")


class ScriptedSocket:
    """Returns the scripted frames, raises the scripted errors, and records sent frames."""

    subprotocol: str | None = "evertable.v1"

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = iter(steps)
        self._pinged = asyncio.Event()
        self.sent: list[Request] = []

    async def send(self, message: str) -> None:
        self.sent.append(parse(message))
        self._pinged.set()

    async def recv(self) -> str | bytes:
        for step in self._steps:
            if step is HANG:
                await asyncio.Event().wait()
            elif step is UNTIL_PING:
                self._pinged.clear()
                await self._pinged.wait()
            elif isinstance(step, Exception):
                raise step
            else:
                return step
        raise asyncio.CancelledError  # the script has ended


class RecordedConnection(Connection):
    """Records its states."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.states: list[ConnectionState] = []

    def move_to(self, state: ConnectionState) -> None:
        super().move_to(state)
        self.states.append(state)


class Rig:
    """A connection with a script for each try; an exception instead of a script fails the try."""

    def __init__(
        self,
        *scripts: list[Step] | Exception,
        on_page: Callable[[], None] = lambda: None,
        **times: float,
    ) -> None:
        self._scripts = iter(scripts)
        self._on_page = on_page
        self.sockets: list[ScriptedSocket] = []
        self.pages: list[Page] = []
        self.slept: list[float] = []
        receiver, delays = PageReceiver("t", View()), lambda: map(float, count(1))
        self._connection = RecordedConnection(
            self._open, receiver, "http://here", delays=delays, sleep=self._sleep, **times
        )
        self.states = self._connection.states

    def _record_page(self, page: Page) -> None:
        self.pages.append(page)
        self._on_page()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[WebSocket]:
        script = next(self._scripts)
        if isinstance(script, Exception):
            raise script
        self.sockets.append(ScriptedSocket(script))
        yield self.sockets[-1]

    async def _sleep(self, delay: float) -> None:
        self.slept.append(delay)

    def run(self) -> None:
        """Runs until the last script has ended."""

        async def until_cancelled() -> None:
            with pytest.raises(asyncio.CancelledError):
                await self._connection.run(self._record_page)

        asyncio.run(until_cancelled())

    def fail(self) -> BaseException:
        """Runs until the connection raises an error, and returns it."""
        with pytest.raises(Exception) as raised:  # noqa: PT011 - any
            asyncio.run(self._connection.run(self._record_page))
        return raised.value


FIRST, SECOND = page_frame(ADA), page_frame(BOB, at=Stamp(1, 2, 1))
LOST = ConnectionError("lost")


def test_subscription_and_pages() -> None:
    rig = Rig([FIRST, SECOND])
    rig.run()
    assert [page.version for page in rig.pages] == [1, 2]
    assert rig.sockets[0].sent == [Subscribe("watch", "t", 1, View())]
    assert rig.states == [ConnectionState.SUBSCRIBING, ConnectionState.LIVE, ConnectionState.CLOSED]


def test_reconnection_with_the_same_view() -> None:
    """Each new socket starts with a subscription."""
    rig = Rig([FIRST, LOST], LOST, [b"garbage"], [page_frame(BOB, tag=3)])
    rig.run()
    assert [page.rows[0][0] for page in rig.pages] == ["Ada", "Bob"]
    assert [socket.sent for socket in rig.sockets] == [[Subscribe("watch", "t", tag, View())] for tag in (1, 2, 3)]
    round_ = [ConnectionState.SUBSCRIBING, ConnectionState.LOST, ConnectionState.CONNECTING]
    assert rig.states == [
        ConnectionState.SUBSCRIBING,
        ConnectionState.LIVE,
        *[ConnectionState.LOST, ConnectionState.CONNECTING],
        *[ConnectionState.LOST, ConnectionState.CONNECTING],
        *round_,
        *[ConnectionState.SUBSCRIBING, ConnectionState.LIVE, ConnectionState.CLOSED],
    ]


def test_delays_grow_until_a_page_arrives() -> None:
    """A socket without a page does not reset the delays, to spare a server that fails immediately."""
    rig = Rig([FIRST, LOST], LOST, [LOST], LOST, [page_frame(ADA, tag=3), LOST], [])
    rig.run()
    assert rig.slept == [1, 2, 3, 4, 1]


def test_a_server_that_was_never_reached_is_an_error() -> None:
    rig = Rig(ConnectionRefusedError("refused"))
    assert isinstance(rig.fail(), ServerUnreachableError)
    assert rig.states == [ConnectionState.FAILED]
    assert rig.slept == []


def test_a_refused_view_is_an_error() -> None:
    rig = Rig([answers.error("watch", 1, ColumnNotFoundError("There is no 'x'."))])
    failure = rig.fail()
    assert isinstance(failure, ServerRefusedError)
    assert failure.condition == "COLUMN_NOT_FOUND"
    assert rig.states == [ConnectionState.SUBSCRIBING, ConnectionState.FAILED]


def test_another_protocol_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedSocket, "subprotocol", None)
    assert isinstance(Rig([FIRST]).fail(), ServerAnswerError)


def test_an_unexpected_error_is_not_retried() -> None:
    bug = ZeroDivisionError()
    rig = Rig([bug])
    assert rig.fail() is bug


def test_an_error_in_a_callback_is_raised() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    rig = Rig([FIRST], on_page=fail)
    assert isinstance(rig.fail(), ZeroDivisionError)
    assert rig.states == [ConnectionState.SUBSCRIBING, ConnectionState.LIVE, ConnectionState.FAILED]


def test_pings_on_a_quiet_table() -> None:
    """A socket that answers pings is alive."""
    rig = Rig([FIRST, UNTIL_PING, answers.pong(1), UNTIL_PING, answers.pong(1)], ping_s=0)
    rig.run()
    assert rig.sockets[0].sent[1:] == [Ping(1), Ping(1)]


def test_a_dead_connection_is_replaced() -> None:
    """A connection without frames, even pongs, is closed, and the next socket is opened."""
    rig = Rig([FIRST, HANG], [page_frame(BOB, tag=2), HANG], [], silence_s=0)
    rig.run()
    assert [page.rows[0][0] for page in rig.pages] == ["Ada", "Bob"]
    assert rig.states.count(ConnectionState.LOST) == 2
