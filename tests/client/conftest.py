"""Servers and clients for tests, and a check that no watch is left running."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.client.live_server import LiveServer, StartServer
from tests.waiting import wait_until

from evertable.client import Client


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Starts servers: ``start_server({"token": "…"}, control=…)``."""
    with ExitStack() as running:

        def started(given: dict[str, Any] | None = None, **options: Any) -> LiveServer:
            server = LiveServer(**(given or {}))
            server.start(**options)
            running.callback(server.stop)
            return server

        yield started


@pytest.fixture
def server(start_server: StartServer) -> LiveServer:
    return start_server()


@pytest.fixture
def client(server: LiveServer) -> Iterator[Client]:
    with Client(server.url) as made:
        yield made


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Checks that the threads of all watches have ended."""
    yield
    wait_until(lambda: not any(thread.name == "evertable-client" for thread in threading.enumerate()))
