"""HTTP that waits for a request only so long: a connection on which nothing is asked takes up a place."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from evertable.server.strangers import report_junk

HEAD_S = 20.0
"""For the head of a request, from its connection's first moment or from the answer before."""


class HeadsInTime(H11Protocol):
    """uvicorn's protocol, which has a limit for pauses between requests, but none for the first or for half of one."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.scope
        super().handle_events()
        if self.scope is not before:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()  # it looks at the next request, if that is there

    def send_400_response(self, msg: str) -> None:
        """Refuses what is no HTTP, also inside of a body, where the application may be at work on an answer."""
        report_junk(self.app_state, self.client)
        if self.cycle is not None:
            self.cycle.disconnected = True  # or h11 would raise at what the application sends from now on
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Keeps out of the log what RFC 9110 lets a server ignore, such as an offer of HTTP/2."""

    def _wait(self) -> None:
        self._wait_no_more()
        if not self.transport.is_closing():
            self._limit = self.loop.call_later(HEAD_S, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
