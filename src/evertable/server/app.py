"""The server's application: every address, with the access rules in front of all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from evertable.config.server import Server
from evertable.live.hub import Hub
from evertable.live.workers import Workers
from evertable.server.bad_requests import STATE, BadRequests
from evertable.server.downloads import Downloads
from evertable.server.metrics import Metrics
from evertable.server.middleware import AccessMiddleware
from evertable.server.operations import Control, Operations, Rollback, Topics, disabled
from evertable.server.refusals import HANDLED, ROUTING, answer, response_to
from evertable.server.rest import Tables
from evertable.server.security import AccessRules, Refusal
from evertable.server.socket import Sockets
from evertable.server.web_page import page_routes
from evertable.tables.catalog import Catalog
from evertable.tables.table import Table

QUICK_WORKERS = 2
"""Threads for status, metrics and plain pages, which must not wait behind sorts and filters."""


class App(Starlette):
    """Serves the tables of ``catalog``; ``hub`` flips its names.

    ``control`` and ``rollback`` are the orchestrator's; without them these requests are refused. ``status`` returns
    what it adds to ``/api/status``, ``topics`` the topics that a control message can name.
    """

    def __init__(
        self,
        catalog: Catalog,
        settings: Server,
        metrics: Metrics | None = None,
        *,
        control: Control = disabled,
        rollback: Rollback = disabled,
        status: Callable[[], Mapping[str, Any]] = dict,
        topics: Topics = disabled,
    ) -> None:
        metrics = metrics or Metrics()
        self.hub = Hub(catalog, settings)
        self.sockets = Sockets(self.hub, settings.max_sockets)
        self._workers = Workers(timeout_s=settings.query_timeout_s)
        self._quick = Workers(QUICK_WORKERS, settings.query_timeout_s)
        self._downloads = Downloads(self._workers)
        self._bad_requests = BadRequests()
        page = page_routes()
        self._rules = AccessRules(settings.token, settings.origins, [route.path for route in page])
        tables = Tables(catalog, self._workers, self._quick, self._downloads, settings)
        operations = Operations(catalog, self._quick, metrics, settings, control, rollback, status, topics)
        super().__init__(
            routes=[*tables.routes, *operations.routes, WebSocketRoute("/ws", self.sockets), *page],
            exception_handlers=dict.fromkeys(HANDLED, answer),
            lifespan=App._running,
        )
        self.router.default = _not_found
        self.router.redirect_slashes = False
        self._register(metrics, catalog)

    def build_middleware_stack(self) -> ASGIApp:
        """Puts the access rules around everything, Starlette's own error pages included."""
        return AccessMiddleware(super().build_middleware_stack(), self._rules, self._bad_requests)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[Mapping[str, Any]]:
        try:
            async with self.hub.running():
                yield {STATE: self._bad_requests}
        finally:
            await self._workers.close()
            await self._quick.close()

    def _register(self, metrics: Metrics, catalog: Catalog) -> None:
        hub, sockets = self.hub, self.sockets

        def by_table(read: Callable[[Table], float]) -> Callable[[], Mapping[tuple[str], float]]:
            return lambda: {(name,): read(table) for name, table in catalog.current.tables.items()}

        metrics.read("evertable_ready", lambda: float(catalog.ready))
        metrics.read("evertable_publication", lambda: catalog.current.number)
        metrics.read("evertable_generation", lambda: catalog.current.generation)
        metrics.read("evertable_table_rows", by_table(lambda table: table.extent.total))
        metrics.read("evertable_table_version", by_table(lambda table: table.extent.version))
        metrics.read("evertable_table_bytes", by_table(lambda table: table.nbytes))
        metrics.read("evertable_sockets", lambda: len(sockets))
        metrics.read("evertable_sockets_blocked", lambda: sockets.blocked)
        metrics.read("evertable_queries", lambda: hub.queries)
        metrics.read("evertable_subscriptions", lambda: hub.subscriptions)
        metrics.read("evertable_frames_sent_total", lambda: {(kind,): count for kind, count in dict(hub.sent).items()})
        metrics.read("evertable_sent_bytes_total", lambda: hub.sent_bytes)
        metrics.read("evertable_downloads", lambda: self._downloads.running)
        metrics.read("evertable_wrong_tokens_total", lambda: self._bad_requests.wrong_tokens)
        metrics.read("evertable_junk_connections_total", lambda: self._bad_requests.junk)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with 404, also a WebSocket."""
    await response_to(Refusal(404, *ROUTING[404]))(scope, receive, send)
