"""Runs the server: uvicorn in the owner's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

from evertable.config.server import Server
from evertable.protocol.frames import MAX_FRAME_BYTES
from evertable.server.listen import BACKLOG, address_of, listeners, tls_context
from evertable.server.uvicorn_internals import HttpProtocol, UvicornServer, WebSocketProtocol

PING_INTERVAL_S = 30
PING_TIMEOUT_S = 120  # a viewer that takes nothing for a while stays connected
MAX_HEAD_BYTES = 64 * 1024  # a request's URL holds the filter, where a character may take 12 bytes
GRACE_S = 3  # a shutdown waits so long for responses in progress; then it cuts connections


@asynccontextmanager
async def serving(app: ASGIApp, settings: Server) -> AsyncIterator[str]:
    """Serves ``app`` over HTTP and WebSockets, and yields the URL; the owner handles signals.

    It ends within five seconds: sockets are closed with 1012, and requests in progress get a few seconds to finish.
    """
    tls = None if settings.tls is None else tls_context(settings.tls)
    sockets = listeners(settings.host, settings.port)
    server = UvicornServer(
        uvicorn.Config(
            app,
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
    running = asyncio.create_task(server.run_until_stopped(sockets), name="evertable-server")
    started = asyncio.create_task(server.is_up.wait())
    try:
        await asyncio.wait({running, started}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()  # raises why it did not start
        yield address_of(settings, sockets[0].getsockname()[1])
    finally:
        started.cancel()
        server.should_exit = True
        await asyncio.wait({running})
        for listening in sockets:
            listening.close()
