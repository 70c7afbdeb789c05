"""The server's application: every address, with the access rules in front of all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from evertable.config.server import Server
from evertable.live.hub import Hub
from evertable.live.workers import Workers
from evertable.server.bad_requests import JUNK, JunkConnections, WrongTokens
from evertable.server.downloads import MAX_DOWNLOADS, STALLED_S, Downloads
from evertable.server.metrics import Metrics, watch_catalog
from evertable.server.middleware import AccessMiddleware
from evertable.server.operations import Control, Operations, Rollback, Topics
from evertable.server.refusals import HANDLED, ROUTING, answer, response_to
from evertable.server.rest import Tables
from evertable.server.security import AccessRules, Refusal
from evertable.server.socket import Sockets
from evertable.server.web_page import page_routes, paths_of
from evertable.tables.catalog import Catalog

QUICK_WORKERS = 2
"""Threads for status, metrics and plain pages, which must not wait behind sorts and filters."""

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class App(Starlette):
    """Starlette inside the access middleware, which also covers Starlette's own error pages."""

    def __init__(self, rules: AccessRules, wrong_tokens: WrongTokens, **options: Any) -> None:
        super().__init__(**options)
        self._rules = rules
        self._wrong_tokens = wrong_tokens
        self.router.default = _not_found
        self.router.redirect_slashes = False

    def build_middleware_stack(self) -> ASGIApp:
        return AccessMiddleware(super().build_middleware_stack(), self._rules, self._wrong_tokens)


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
    """Returns the application over ``catalog``.

    ``websocket`` is the endpoint of ``/ws``, and ``lifespan`` runs as long as the application does (the hub).
    ``control`` and ``rollback`` are the orchestrator's; without them these requests are refused. ``status`` returns
    what it adds to ``/api/status``, ``topics`` the topics that a control message can name.
    ``metrics`` and ``workers`` are created unless they are shared; the workers end with the application.
    ``routes`` are more addresses, such as a web page's; ``public`` those of them that need no token.
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
    operations = Operations(catalog, quick, metrics, settings, control, rollback, status, topics)

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
        AccessRules(settings.token, settings.origins, public),
        wrong_tokens,
        routes=[
            *tables.routes,
            *operations.routes,
            *sockets,
            *routes,
        ],
        exception_handlers=dict.fromkeys(HANDLED, answer),
        lifespan=running,
    )


def create_live_app(
    catalog: Catalog, settings: Server, metrics: Metrics | None = None, **options: Any
) -> tuple[App, Hub]:
    """Returns the application with the web page and WebSockets, and the hub that flips its names.

    ``options`` are those of ``create_app``.
    """
    hub = Hub(catalog, settings)
    sockets = Sockets(hub, settings.max_sockets)
    metrics = metrics or Metrics()
    page = page_routes()
    metrics.read("evertable_sockets", lambda: len(sockets))
    metrics.read("evertable_sockets_blocked", lambda: sockets.blocked)
    metrics.read("evertable_queries", lambda: hub.queries)
    metrics.read("evertable_subscriptions", lambda: hub.subscriptions)
    metrics.read("evertable_frames_sent_total", lambda: {(kind,): count for kind, count in dict(hub.sent).items()})
    metrics.read("evertable_sent_bytes_total", lambda: hub.sent_bytes)
    app = create_app(
        catalog,
        settings,
        websocket=sockets,
        lifespan=hub.running,
        metrics=metrics,
        routes=page,
        public=paths_of(page),
        **options,
    )
    return app, hub


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with 404, also a WebSocket."""
    await response_to(Refusal(404, *ROUTING[404]))(scope, receive, send)
