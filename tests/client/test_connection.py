"""A connection subscribes, goes on, and comes back, on sockets that follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count

import pytest
from tests.client.test_following import ADA, BOB, page_frame

from evertable.client.connection import Connection, Socket
from evertable.client.errors import ServerAnswerError, ServerRefusedError, ServerUnreachableError
from evertable.client.following import Following
from evertable.client.state import ConnectionState
from evertable.errors import ColumnNotFoundError
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.protocol.frames import Ping, Request, Subscribe, parse
from evertable.protocol.page import Page
from evertable.views.view import View

Step = bytes | Exception | Callable[[], None]
HANG = Exception("nothing comes any more")


class ScriptedSocket:
    """Gives its frames, raises its errors, and keeps what is sent."""

    subprotocol: str | None = "evertable.v1"

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = iter(steps)
        self.sent: list[Request] = []

    async def send(self, message: str) -> None:
        self.sent.append(parse(message))

    async def recv(self) -> str | bytes:
        for step in self._steps:
            if step is HANG:
                await asyncio.Event().wait()
            elif isinstance(step, Exception):
                raise step
            elif callable(step):
                step()
            else:
                return step
        raise asyncio.CancelledError  # the script is over


class Rig:
    """A connection over scripts, one for each try; an exception instead of a script refuses the try."""

    def __init__(
        self,
        *scripts: list[Step] | Exception,
        clock: Callable[[], float] = lambda: 0.0,
        on_page: Callable[[], None] = lambda: None,
    ) -> None:
        self._scripts = iter(scripts)
        self._on_page = on_page
        self.sockets: list[ScriptedSocket] = []
        self.pages: list[Page] = []
        self.states: list[ConnectionState] = []
        self.slept: list[float] = []
        self._connection = Connection(
            self._open,
            Following("t", View()),
            "http://here",
            self._took,
            self.states.append,
            delays=lambda: map(float, count(1)),
            sleep=self._sleep,
            clock=clock,
        )

    def _took(self, page: Page) -> None:
        self.pages.append(page)
        self._on_page()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Socket]:
        script = next(self._scripts)
        if isinstance(script, Exception):
            raise script
        self.sockets.append(ScriptedSocket(script))
        yield self.sockets[-1]

    async def _sleep(self, delay: float) -> None:
        self.slept.append(delay)

    def run(self) -> None:
        """Until the last script is over, or the connection gives up."""

        async def until_cancelled() -> None:
            with pytest.raises(asyncio.CancelledError):
                await self._connection.run()

        asyncio.run(until_cancelled())

    def fail(self) -> BaseException:
        """What the connection gives up with."""
        with pytest.raises(Exception) as raised:  # noqa: PT011 - any
            asyncio.run(self._connection.run())
        return raised.value


FIRST, SECOND = page_frame(ADA), page_frame(BOB, at=Stamp(1, 2, 1))
LOST = ConnectionError("lost")


def test_it_subscribes_and_hands_pages_on() -> None:
    rig = Rig([FIRST, SECOND])
    rig.run()
    assert [page.version for page in rig.pages] == [1, 2]
    assert rig.sockets[0].sent == [Subscribe("watch", "t", 1, View())]
    assert rig.states == [ConnectionState.SUBSCRIBING, ConnectionState.LIVE, ConnectionState.CLOSED]


def test_it_comes_back_with_the_same_view() -> None:
    """After any loss, for ever; each socket starts afresh."""
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


def test_delays_grow_until_a_page_comes() -> None:
    """A socket that opens but shows nothing does not count: a server that fails at once is not hammered."""
    rig = Rig([FIRST, LOST], LOST, [LOST], LOST, [page_frame(ADA, tag=3), LOST], [])
    rig.run()
    assert rig.slept == [1, 2, 3, 4, 1]


def test_a_server_that_was_never_there_is_an_error() -> None:
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


def test_a_server_that_speaks_something_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedSocket, "subprotocol", None)
    assert isinstance(Rig([FIRST]).fail(), ServerAnswerError)


def test_a_mistake_of_ours_is_not_tried_again() -> None:
    mistake = ZeroDivisionError()
    rig = Rig([mistake])
    assert rig.fail() is mistake


def test_what_goes_wrong_with_a_page_is_raised() -> None:
    """A mistake of ours, for example, while everything was live."""

    def fail() -> None:
        raise ZeroDivisionError

    rig = Rig([FIRST], on_page=fail)
    assert isinstance(rig.fail(), ZeroDivisionError)
    assert rig.states == [ConnectionState.SUBSCRIBING, ConnectionState.LIVE, ConnectionState.FAILED]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def moves(self, seconds: float) -> Callable[[], None]:
        def move() -> None:
            self.now += seconds

        return move


def test_a_quiet_table_is_asked_for_a_sign_of_life() -> None:
    clock = Clock()
    rig = Rig([FIRST, clock.moves(6), answers.pong(1), answers.pong(1)], clock=clock)
    rig.run()
    assert rig.sockets[0].sent[1:] == [Ping(1)]


def test_a_dead_connection_is_left() -> None:
    """Nothing comes for long, also no pong: the next socket is tried."""
    clock = Clock()
    rig = Rig([FIRST, HANG], [page_frame(BOB, tag=2), HANG], [], clock=clock, on_page=clock.moves(100))
    rig.run()
    assert [page.rows[0][0] for page in rig.pages] == ["Ada", "Bob"]
    assert rig.states.count(ConnectionState.LOST) == 2
