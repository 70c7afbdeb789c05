"""A table being watched: an iterator of pages with a thread behind it."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from evertable.client.connection import Connection
from evertable.client.errors import ClientClosedError
from evertable.client.mailbox import Mailbox
from evertable.client.state import ConnectionState
from evertable.protocol.page import Page

JOIN_S = 5.0

MakeConnection = Callable[[Callable[[Page], None], Callable[[ConnectionState], None]], Connection]
"""From what is to be told of pages and of states."""


class Watch:
    """Iterates over the newest pages of a view, one after every change; who is slow misses those between.

    It connects at the first page asked for (or at ``with``) and again by itself whenever the connection is lost. It
    ends with ``close()``, with the ``with`` block, or when nobody holds it any more.
    """

    def __init__(self, make: MakeConnection) -> None:
        self._receiver = _Receiver(make)
        self._end = weakref.finalize(self, self._receiver.close)  # at the end of the program at the latest

    @property
    def state(self) -> ConnectionState:
        return self._receiver.state

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
        """The newest page that was not given yet; None if none comes in that time. ClientClosedError after the end."""
        self._receiver.start()
        return self._receiver.mailbox.take(timeout_s)

    def close(self) -> None:
        """Ends the connection and waits until it has ended; may be called from any thread, and again."""
        self._end()

    def __enter__(self) -> Self:
        self._receiver.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Receiver:
    """The thread that runs the connection. It does not know the Watch, which may therefore be forgotten."""

    def __init__(self, make: MakeConnection) -> None:
        self.mailbox = Mailbox()
        self.state = ConnectionState.CONNECTING
        self._connection = make(self.mailbox.put, self._note)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop
        self._task: asyncio.Task[None]

    def start(self) -> None:
        """Starts the thread, once."""
        with self._lock:
            if self._thread is not None or self._closed:
                return
            running = threading.Event()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._run(running)), name="evertable-watch", daemon=True
            )
            self._thread.start()
            running.wait()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            thread = self._thread
        self.mailbox.discard()
        if thread is None:
            self.state = ConnectionState.CLOSED
            return
        with suppress(RuntimeError):  # if the loop has ended by itself
            self._loop.call_soon_threadsafe(self._task.cancel)
        if thread is not threading.current_thread():  # where garbage collection may have led
            thread.join(JOIN_S)

    def _note(self, state: ConnectionState) -> None:
        self.state = state

    async def _run(self, running: threading.Event) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.create_task(self._connection.run())
        running.set()
        try:
            await self._task
        except asyncio.CancelledError:
            self.mailbox.close()
        except Exception as error:
            self.mailbox.close(error)
