"""HTTP that waits for a request only so long: a connection on which nothing is asked takes up a place."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

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

    def _wait(self) -> None:
        self._wait_no_more()
        if not self.transport.is_closing():
            self._limit = self.loop.call_later(HEAD_S, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
