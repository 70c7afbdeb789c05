"""Servers that tests start, and a catalog with something in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from tests.live.samples import settings, table

from evertable.server.app import create_app
from evertable.server.run import ServerThread
from evertable.server.uvicorn_internals import WebSocketProtocol
from evertable.tables.catalog import Catalog


@pytest.fixture
def catalog() -> Catalog:
    """A live generation 3, with one table ``users_ui``."""
    made = Catalog(["users_ui"])
    made.publish(3, {"users_ui": table()})
    return made


Serve = Callable[..., ServerThread]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server over a catalog, in a thread: ``serve(catalog, {"token": …}, websocket=endpoint)``."""
    with ExitStack() as running:

        def started(catalog: Catalog, given: dict[str, Any] | None = None, **options: Any) -> ServerThread:
            chosen = settings(**(given or {}))
            return running.enter_context(ServerThread(create_app(catalog, chosen, **options), chosen))

        yield started


@pytest.fixture
def client(serve: Serve, catalog: Catalog) -> Iterator[httpx.Client]:
    """A client of a server over ``catalog``."""
    with httpx.Client(base_url=serve(catalog).url) as made:
        yield made


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[WebSocketProtocol]:
    """Connections that have ended."""
    found: list[WebSocketProtocol] = []
    end = WebSocketProtocol.connection_lost

    def noted(connection: WebSocketProtocol, exc: Exception | None) -> None:
        found.append(connection)
        end(connection, exc)

    monkeypatch.setattr(WebSocketProtocol, "connection_lost", noted)
    return found
