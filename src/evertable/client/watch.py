"""Watches a table: an iterator of pages with a thread behind it."""

from __future__ import annotations

import asyncio
import threading
import weakref
from contextlib import suppress
from typing import Self

from evertable.client.connection import Connection, ConnectionState
from evertable.client.errors import ClientClosedError
from evertable.protocol.page import Page

JOIN_S = 5.0


class Watch:
    """Iterates over the pages of a view, one after every change; a slow reader gets only the newest one.

    It connects when the first page is requested (or at ``with``), and reconnects whenever the connection is lost. It
    ends with ``close()``, with the ``with`` block, or when it is garbage collected.
    """

    def __init__(self, connection: Connection) -> None:
        self._runner = _Runner(connection)
        self._close = weakref.finalize(self, self._runner.close)  # also runs when the program exits

    @property
    def state(self) -> ConnectionState:
        return self._runner.connection.state

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Page:
        while True:
            try:
                if page := self.poll(None):
                    return page
            except ClientClosedError:
                raise StopIteration from None

    def poll(self, timeout_s: float | None) -> Page | None:
        """Returns the newest page that was not returned yet; None after the timeout. ClientClosedError once closed."""
        self._runner.start()
        return self._runner.take(timeout_s)

    def close(self) -> None:
        """Closes the connection and waits for its thread. Can be called from any thread, and more than once."""
        self._close()

    def __enter__(self) -> Self:
        self._runner.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class _Runner:
    """Runs the connection in a thread, and holds the newest page and the error that ended it.

    It has no reference to the Watch, which can therefore be collected.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._changed = threading.Condition()
        self._page: Page | None = None
        self._error: BaseException | None = None
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._task: asyncio.Task[None]

    def start(self) -> None:
        """Starts the thread unless it was started or closed before."""
        with self._changed:
            if self._thread is not None or self._is_closed:
                return
            running = threading.Event()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._run(running)), name="evertable-client", daemon=True
            )
            self._thread.start()
            running.wait()

    def take(self, timeout_s: float | None) -> Page | None:
        """Waits for a page; None after the timeout. Afterwards it raises the error, once, then ClientClosedError."""
        with self._changed:
            self._changed.wait_for(lambda: self._page is not None or self._is_closed, timeout_s)
            page, self._page = self._page, None
            if page is not None or not self._is_closed:
                return page
            error, self._error = self._error, None
            raise error or ClientClosedError("The watch is closed.")

    def close(self) -> None:
        with self._changed:
            self._is_closed, self._page, self._error = True, None, None
            self._changed.notify_all()
            thread = self._thread
        if thread is None:
            self.connection.move_to(ConnectionState.CLOSED)
            return
        with suppress(RuntimeError):  # raised if the loop has ended already
            self._loop.call_soon_threadsafe(self._task.cancel)
        if thread is not threading.current_thread():  # garbage collection can run in the thread itself
            thread.join(JOIN_S)

    def _put(self, page: Page) -> None:
        with self._changed:
            self._page = page
            self._changed.notify_all()

    async def _run(self, running: threading.Event) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.create_task(self.connection.run(self._put))
        running.set()
        [outcome] = await asyncio.gather(self._task, return_exceptions=True)
        with self._changed:
            if not self._is_closed:
                self._is_closed, self._error = True, outcome
            self._changed.notify_all()
