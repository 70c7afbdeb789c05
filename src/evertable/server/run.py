"""Runs the server: uvicorn in the owner's event loop, or in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from evertable.config.server import Server as Settings
from evertable.protocol.frames import MAX_FRAME_BYTES
from evertable.server.listen import BACKLOG, address_of, listeners, tls_context
from evertable.server.security import check_exposure
from evertable.server.uvicorn_internals import HttpProtocol, UvicornServer, WebSocketProtocol

PING_INTERVAL_S = 30
PING_TIMEOUT_S = 120  # a viewer that takes nothing for a while stays connected
MAX_HEAD_BYTES = 64 * 1024  # a request's URL holds the filter, where a character may take 12 bytes
GRACE_S = 3  # a shutdown waits so long for responses in progress; then it cuts connections


class Server:
    """An HTTP and WebSocket server for ``app``. ``port`` is the actual port, also if the settings have 0.

    ``start`` returns when the server accepts connections. ``stop`` ends it within five seconds: sockets are closed
    with 1012, and requests in progress get a few seconds to finish. The owner handles signals.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._sockets: list[socket.socket] = []
        self._uvicorn: UvicornServer | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        if not self._sockets:
            raise RuntimeError("the server is not started")
        return self._port

    @property
    def url(self) -> str:
        return address_of(self._settings, self.port)

    def bind(self) -> None:
        """Binds the port, so that it is known before the first request; ``start`` calls this if its owner has not."""
        check_exposure(self._settings)
        if not self._sockets:
            self._tls = None if self._settings.tls is None else tls_context(self._settings.tls)
            self._sockets = listeners(self._settings.host, self._settings.port)
            self._port: int = self._sockets[0].getsockname()[1]

    async def start(self) -> None:
        self.bind()
        tls = self._tls
        self._uvicorn = UvicornServer(
            uvicorn.Config(
                self._app,
                http=HttpProtocol,
                ws=WebSocketProtocol,
                ws_per_message_deflate=False,
                ws_max_size=MAX_FRAME_BYTES,
                ws_ping_interval=PING_INTERVAL_S,
                ws_ping_timeout=PING_TIMEOUT_S,
                lifespan="on",
                log_config=None,
                log_level="warning",  # lower levels log URLs with their queries and headers with tokens
                access_log=False,
                proxy_headers=False,
                server_header=False,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
                backlog=BACKLOG,
                timeout_graceful_shutdown=GRACE_S,
                ssl_context_factory=None if tls is None else lambda config, default: tls,
            )
        )
        self._task = asyncio.create_task(self._uvicorn.run_until_stopped(self._sockets), name="evertable-server")
        started = asyncio.create_task(self._uvicorn.is_up.wait())
        try:
            await asyncio.wait({self._task, started}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            started.cancel()
        if self._task.done():
            self._close()
            self._task.result()

    async def stop(self) -> None:
        if self._uvicorn is not None and self._task is not None:
            self._uvicorn.should_exit = True
            await asyncio.wait({self._task})
            self._uvicorn = None
        self._close()

    async def wait(self) -> None:
        """Waits until the server has ended; raises the error that ended it."""
        if self._task is not None:
            await asyncio.shield(self._task)

    def _close(self) -> None:
        for listening in self._sockets:
            listening.close()
        self._sockets = []

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


class ServerThread:
    """A server in a thread of its own, for owners without an event loop: ``with ServerThread(app, settings)``."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._server = Server(app, settings)
        self._up = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="evertable-server", daemon=True)

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> None:
        """Returns when the server accepts connections; raises the error if it cannot."""
        self._server.bind()
        self._thread.start()
        self._up.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # raised in start
            self._failure = error
        finally:
            self._up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        async with self._server:
            self._up.set()
            await self._ended.wait()
