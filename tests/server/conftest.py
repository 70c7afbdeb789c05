"""Servers for tests, and a catalog with one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from starlette.routing import Route, WebSocketRoute
from tests.live.samples import settings, table
from tests.server_thread import ServerThread

from evertable.server.app import App
from evertable.server.uvicorn_internals import WebSocketProtocol
from evertable.server.web_page import page_routes
from evertable.tables.catalog import Catalog


@pytest.fixture
def catalog() -> Catalog:
    """Makes a catalog with generation 3 live and one table ``users_ui``."""
    made = Catalog(["users_ui"])
    made.publish(3, {"users_ui": table()})
    return made


Serve = Callable[..., ServerThread[App]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server over a catalog, in a thread: ``serve(catalog, {"token": …}, websocket=endpoint)``.

    ``websocket`` replaces the endpoint of ``/ws``, and ``routes`` are more addresses.
    """
    with ExitStack() as running:

        def started(
            catalog: Catalog,
            given: dict[str, Any] | None = None,
            websocket: Callable[..., Any] | None = None,
            routes: Sequence[Route] = (),
            **options: Any,
        ) -> ServerThread[App]:
            chosen = settings(**(given or {}))
            app = App(catalog, chosen, **options)
            app.router.routes[:0] = [*routes, *([WebSocketRoute("/ws", websocket)] if websocket else ())]
            return running.enter_context(ServerThread(app, chosen))

        yield started


@pytest.fixture
def client(serve: Serve, catalog: Catalog) -> Iterator[httpx.Client]:
    """Returns a client of a server over ``catalog``."""
    with httpx.Client(base_url=serve(catalog).url) as made:
        yield made


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[WebSocketProtocol]:
    """Collects connections that have ended."""
    found: list[WebSocketProtocol] = []
    end = WebSocketProtocol.connection_lost

    def noted(connection: WebSocketProtocol, exc: Exception | None) -> None:
        found.append(connection)
        end(connection, exc)

    monkeypatch.setattr(WebSocketProtocol, "connection_lost", noted)
    return found


def api_routes(catalog: Catalog) -> set[tuple[str, str]]:
    """Returns the method and path of each address, apart from the web page's and HEAD."""
    page = {route.path for route in page_routes()}
    routes = [one for one in App(catalog, settings()).routes if isinstance(one, Route) and one.path not in page]
    return {(method, route.path) for route in routes for method in (route.methods or set()) - {"HEAD"}}
