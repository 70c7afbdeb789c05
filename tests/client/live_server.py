"""A real server that tests can restart at the same address, and an address that answers once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tests.live.samples import settings
from tests.server_thread import ServerThread

from evertable.schema.columns import Column, parse_columns
from evertable.server.app import App
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog

COLUMNS: tuple[Column, ...] = parse_columns(
    {
        "name": "string",
        "age": "int",
        "views": "long",
        "score": "double",
        "ratio": "float",
        "balance": "decimal(20,10)",
        "born": "date",
        "seen": "timestamp",
        "active": "boolean",
        "extra": "json",
    }
)
SEEN = datetime(2026, 11, 15, 20, 7, 28, 123456, UTC)
ADA = ("Ada", 36, 2**60, 0.1, 1.5, Decimal("1.5000000000"), date(1815, 12, 10), SEEN, True, '{"a":1}')
BOB = ("Bob", None, -1, -0.5, 0.25, Decimal("-0.0000000001"), None, None, False, None)


class LiveServer:
    """A server over one table ``people`` and one name ``later`` without a table until one is published."""

    def __init__(self, **given: Any) -> None:
        self.people = BoundedTable(COLUMNS, 100_000)
        self.people.put({"ada": ADA, "bob": BOB})
        self.catalog = Catalog(["later"], {"people": self.people})
        self.people._on_change = self.catalog.notify
        self._given = {"port": 0, **given}
        self._running: ServerThread[App] | None = None

    @property
    def url(self) -> str:
        return f"{'https' if 'tls' in self._given else 'http'}://127.0.0.1:{self._given['port']}"

    def start(self, **options: Any) -> None:
        chosen = settings(**self._given)
        app = App(self.catalog, chosen, **options)
        self.sockets = app.sockets
        self._running = ServerThread(app, chosen)
        self._running.start()
        self._given["port"] = self._running.port

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None


StartServer = Callable[..., LiveServer]


@contextmanager
def answering(raw: bytes) -> Iterator[str]:
    """Listens at an address and answers the first request with ``raw``, then closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with closing(connection):
                connection.recv(65_536)
                connection.sendall(raw)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()
