"""A viewer's socket: reads its requests, and sends updates of its subscriptions as fast as the viewer takes them.

No frames are queued for a slow viewer. The socket remembers which subscriptions have an update, and builds a frame only
when it can be sent; that frame then has everything that changed in between. ASGI would want it earlier, and would wrap,
decode, encode and queue it; so frames go straight to the connection, which offers itself as an ASGI extension.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import structlog
from starlette.types import Receive, Scope, Send

from evertable import __version__
from evertable.errors import (
    RequestError,
    SubscriptionExistsError,
    SubscriptionNotFoundError,
    TooManySubscriptionsError,
)
from evertable.live.current_page import BEGINNING, Subscription
from evertable.live.hub import Hub
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.protocol.frames import (
    SUBPROTOCOL,
    BadFrameError,
    ChangeView,
    CloseCode,
    Ping,
    Request,
    Subscribe,
    Unsubscribe,
    parse,
)
from evertable.server.refusals import response_to
from evertable.server.security import Refusal
from evertable.views.query import Query
from evertable.views.view import View

EXTENSION = "evertable.wire"
"""The ASGI extension that is the connection's ``FrameWriter``."""
CLOSE_S = 5.0
"""A viewer has so long to take the end of a connection; then it is cut."""
MAX_REPLACED_VIEWS = 8
"""Views without a page that a subscription can return to, one after the other."""

log = structlog.get_logger()


class FrameWriter(Protocol):
    """Sends the frames of one connection."""

    async def drain(self) -> None:
        """Returns when the viewer can take a frame; raises OSError if it is gone."""

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        """Sends a frame that consists of these two parts."""


class Sockets:
    """The endpoint of ``/ws``: all open sockets."""

    def __init__(self, hub: Hub, max_sockets: int) -> None:
        self._hub = hub
        self._max = max_sockets
        self._open: set[Socket] = set()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def blocked(self) -> int:
        """The number of sockets whose viewer does not take what was sent."""
        return sum(socket.sending for socket in tuple(self._open))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self._open) >= self._max:
            message = f"{self._max} viewers are connected, which is the limit. Try again later."
            await response_to(Refusal(503, "TOO_MANY_SOCKETS", message))(scope, receive, send)
            return
        address = scope.get("client")
        writer = scope["extensions"][EXTENSION]
        socket = Socket(self._hub, receive, send, writer, address[0] if address else None)
        self._open.add(socket)
        try:
            await socket.run()
        finally:
            self._open.discard(socket)


class Socket:
    """Reads requests in one task and writes frames in another; both end together."""

    def __init__(self, hub: Hub, receive: Receive, send: Send, writer: FrameWriter, client: str | None = None) -> None:
        self.sending = False
        self._writer = writer
        self._hub = hub
        self._client = client
        self._receive = receive
        self._send = send
        self._subscriptions: dict[str, Subscription] = {}
        self._pending: dict[Subscription, None] = {}  # in order of arrival
        self._has_pending = asyncio.Event()

    async def run(self) -> None:
        if (await self._receive())["type"] != "websocket.connect":
            return
        await self._send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})
        writing = asyncio.create_task(self._write())
        reading = asyncio.create_task(self._read())
        try:
            await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, writing):
                task.cancel()
            failures = await asyncio.gather(reading, writing, return_exceptions=True)
            for subscription in self._subscriptions.values():
                self._hub.detach(subscription)
            self._subscriptions.clear()
        await self._report(failures)

    async def _report(self, failures: Sequence[BaseException | None]) -> None:
        """Logs unexpected errors and closes the socket; a viewer that has left is not an error."""
        for failure in failures:
            if isinstance(failure, Exception) and not isinstance(failure, OSError):
                log.error("A socket failed and is closed", exc_info=failure)
                await self._close(CloseCode.SERVER_FAILED, "the server failed; see its log")

    async def _read(self) -> None:
        await self._send_frame("welcome", answers.welcome(__version__, self._hub.limits))
        while (message := await self._receive())["type"] == "websocket.receive":
            if (text := message.get("text")) is None:
                return await self._close(CloseCode.BINARY_FRAME, "frames are text")
            try:
                request = parse(text)
            except BadFrameError as error:
                return await self._close(CloseCode.BAD_FRAME, error.reason)
            await self._answer(request)
            await asyncio.sleep(0)  # other viewers have their turn between two requests
        return None

    async def _answer(self, request: Request) -> None:
        if isinstance(request, Ping):
            return await self._send_frame("pong", answers.pong(request.tag))
        tag = 0 if isinstance(request, Unsubscribe) else request.tag
        try:
            match request:
                case Subscribe():
                    await self._subscribe(request)
                case ChangeView():
                    await self._change_view(request)
                case Unsubscribe():
                    self._forget(self._find(request.id))
                    del self._subscriptions[request.id]
        except RequestError as problem:
            await self._send_frame("error", answers.error(request.id, tag, problem))

    async def _subscribe(self, request: Subscribe) -> None:
        if request.id in self._subscriptions:
            raise SubscriptionExistsError(f"The subscription '{request.id}' already exists.")
        if len(self._subscriptions) >= self._hub.limits.subscriptions:
            raise TooManySubscriptionsError(f"A socket has at most {self._hub.limits.subscriptions} subscriptions.")
        await self._attach(request.id, request.table, request.tag, request.view)

    async def _change_view(self, request: ChangeView) -> None:
        replaced = self._find(request.id)
        view = replaced.view
        seen, before = (view.page.stamp, ()) if replaced.page_number else (replaced.min_stamp, replaced.replaced_views)
        before = (*before, (replaced.tag, view.view))[-MAX_REPLACED_VIEWS:]
        await self._attach(request.id, view.name, request.tag, request.view, seen, before)

    async def _attach(
        self,
        id_: str,
        name: str,
        tag: int,
        view: View,
        after: Stamp = BEGINNING,
        before: tuple[tuple[int, View], ...] = (),
    ) -> None:
        subscription = Subscription(id_, tag, self._notify, after, client=self._client, replaced_views=before)
        replaced = self._subscriptions.get(id_)
        self._hub.attach(name, view, subscription, replaced)
        self._subscriptions[id_] = subscription
        if replaced:
            self._forget(replaced)
        if self._hub.is_waiting(subscription):
            await self._send_frame("waiting", answers.waiting(id_, tag, name))

    def _forget(self, subscription: Subscription) -> None:
        """Detaches a subscription and drops its pending update."""
        self._pending.pop(subscription, None)
        self._hub.detach(subscription)

    def _find(self, id_: str) -> Subscription:
        if (found := self._subscriptions.get(id_)) is None:
            raise SubscriptionNotFoundError(f"The subscription '{id_}' does not exist.")
        return found

    def _notify(self, subscription: Subscription) -> None:
        self._pending[subscription] = None
        self._has_pending.set()

    async def _write(self) -> None:
        while True:
            await self._has_pending.wait()
            self._has_pending.clear()
            while self._pending:
                self.sending = True
                await self._writer.drain()
                if frame := self._next_frame():
                    kind, start, rest = frame
                    await self._writer.write(start, rest)
                    self._hub.count(kind, len(start) + len(rest))
                self.sending = False

    def _next_frame(self) -> tuple[str, bytes, bytes] | None:
        """Returns kind, prefix and tail of the longest pending update, unless it was sent or dropped meanwhile."""
        if (subscription := next(iter(self._pending), None)) is None:
            return None
        del self._pending[subscription]
        if (failure := subscription.view.failure) is not None:
            self._fail(subscription)
            return "error", answers.error(subscription.id, subscription.tag, failure), b""
        if (tail := self._hub.frame_for(subscription)) is None:
            return None
        return tail.kind, answers.prefix(tail.kind, subscription.id, subscription.tag), tail.data

    def _fail(self, subscription: Subscription) -> None:
        """Returns to the view that the failed one replaced; ends the subscription if it has had a page of this one."""
        del self._subscriptions[subscription.id]
        self._forget(subscription)
        if subscription.page_number or not subscription.replaced_views:
            return
        *before, (tag, last) = subscription.replaced_views
        again = replace(subscription, tag=tag, notified_s=None, replaced_views=tuple(before))
        self._hub.reattach(subscription.view.name, last, Query.parse(last), again)
        self._subscriptions[again.id] = again

    async def _send_frame(self, kind: str, frame: bytes) -> None:
        await self._writer.drain()
        await self._writer.write(frame)
        self._hub.count(kind, len(frame))

    async def _close(self, code: CloseCode, reason: str) -> None:
        with suppress(OSError, RuntimeError, TimeoutError):  # it may be closed already, or the viewer stalled
            async with asyncio.timeout(CLOSE_S):
                await self._send({"type": "websocket.close", "code": int(code), "reason": reason})
