"""The server's application: every address, with the gate in front of all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from evertable.config.server import Server
from evertable.live.workers import Workers
from evertable.server.downloads import MAX_DOWNLOADS, STALLED_S, Downloads
from evertable.server.gate import Gate
from evertable.server.health import health_routes
from evertable.server.metrics import Metrics, watch_catalog
from evertable.server.openapi import openapi_routes
from evertable.server.operations import Control, Operations, Rollback, Topics
from evertable.server.refusals import HANDLED, ROUTING, answer, response_to
from evertable.server.rest import Tables
from evertable.server.security import Refusal, Rules
from evertable.server.strangers import JUNK, JunkConnections, WrongTokens
from evertable.tables.catalog import Catalog

QUICK_WORKERS = 2
"""For status, metrics and plain pages, which must not wait behind sorts and filters."""

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class App(Starlette):
    """Starlette with the gate outside of everything, its error pages included."""

    def __init__(self, rules: Rules, wrong_tokens: WrongTokens, **options: Any) -> None:
        super().__init__(**options)
        self._rules = rules
        self._wrong_tokens = wrong_tokens
        self.router.default = _nothing_here
        self.router.redirect_slashes = False

    def build_middleware_stack(self) -> ASGIApp:
        return Gate(super().build_middleware_stack(), self._rules, self._wrong_tokens)


def create_app(
    catalog: Catalog,
    settings: Server,
    *,
    websocket: Callable[..., Any] | None = None,
    lifespan: Lifespan = nullcontext,
    control: Control | None = None,
    rollback: Rollback | None = None,
    status: Callable[[], Mapping[str, Any]] | None = None,
    topics: Topics | None = None,
    metrics: Metrics | None = None,
    workers: Workers | None = None,
    max_downloads: int = MAX_DOWNLOADS,
    stalled_s: float = STALLED_S,
    routes: Sequence[BaseRoute] = (),
    public: Sequence[str] = (),
) -> App:
    """The application over ``catalog``.

    ``websocket`` is the endpoint of ``/ws``, and ``lifespan`` what runs as long as the application does (the hub).
    ``control`` and ``rollback`` are the orchestrator's; without them these requests are refused. ``status`` is what it
    adds to ``/api/status``, ``topics`` what could be wired.
    ``metrics`` and ``workers`` are given where others use them too; the workers end with the application.
    ``routes`` are more addresses, such as a web page's; ``public`` those of them that need no token (see ``Rules``).
    """
    metrics = metrics or Metrics()
    workers = workers or Workers(timeout_s=settings.query_timeout_s)
    quick = Workers(QUICK_WORKERS, settings.query_timeout_s)
    downloads = Downloads(workers, max_downloads, stalled_s)
    watch_catalog(metrics, catalog)
    metrics.read("evertable_downloads", lambda: downloads.running)
    wrong_tokens, junk = WrongTokens(), JunkConnections()
    metrics.read("evertable_wrong_tokens_total", lambda: wrong_tokens.total)
    metrics.read("evertable_junk_connections_total", lambda: junk.total)
    tables = Tables(catalog, workers, quick, downloads, settings.max_page, settings.query_timeout_s)
    operations = Operations(catalog, quick, metrics, settings.max_memory_mb, control, rollback, status, topics)

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncIterator[Mapping[str, Any]]:
        try:
            async with lifespan():
                yield {JUNK: junk}
        finally:
            await workers.close()
            await quick.close()

    sockets = [] if websocket is None else [WebSocketRoute("/ws", websocket)]
    return App(
        Rules(settings.token, settings.origins, public),
        wrong_tokens,
        routes=[
            *tables.routes,
            *operations.routes,
            *health_routes(catalog),
            *openapi_routes(settings.max_page),
            *sockets,
            *routes,
        ],
        exception_handlers=dict.fromkeys(HANDLED, answer),
        lifespan=running,
    )


async def _nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    """404, also for a WebSocket."""
    await response_to(Refusal(404, *ROUTING[404]))(scope, receive, send)
