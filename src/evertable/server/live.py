"""A server with everything in it: tables over HTTP, viewers over sockets, and what both count."""

from __future__ import annotations

from typing import Any

from evertable.config.server import Server
from evertable.live.hub import Hub
from evertable.server.app import App, create_app
from evertable.server.metrics import Metrics
from evertable.server.page import page_routes, paths_of
from evertable.server.socket import Sockets
from evertable.tables.catalog import Catalog


def create_live_app(
    catalog: Catalog, settings: Server, metrics: Metrics | None = None, **options: Any
) -> tuple[App, Hub]:
    """The application over ``catalog``, and the hub that flips its names; ``options`` are those of ``create_app``."""
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
