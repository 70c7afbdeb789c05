"""Downloads have the speed of their client and a limited number, and end if the client does not read."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest
from tests.live.samples import table
from tests.server.conftest import Serve
from tests.server_thread import ServerThread

from evertable.schema.columns import parse_columns
from evertable.server import downloads
from evertable.server.app import App
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.tables.store import StoredSnapshot
from evertable.tables.table import Slots

ROWS = 1000
WIDE = "y" * 100_000  # a hundred megabytes in all: more than any socket's buffers


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog(["wide", "users_ui"])
    made.publish(1, {"wide": table(parse_columns({"x": "string"}), [(WIDE,)] * ROWS), "users_ui": table()})
    return made


Stall = Callable[..., socket.socket]


@pytest.fixture
def stall() -> Iterator[Stall]:
    """Requests the wide table and reads only its first bytes."""
    opened: list[socket.socket] = []

    def ask(server: ServerThread[App], source: str = "127.0.0.1") -> socket.socket:
        made = socket.create_connection(("127.0.0.1", server.port), source_address=(source, 0))
        opened.append(made)
        made.sendall(b"GET /api/tables/wide.csv HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert made.recv(15) == b"HTTP/1.1 200 OK"
        return made

    yield ask
    for made in opened:
        made.close()


def running(server: ServerThread[App]) -> float:
    lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("evertable_downloads "))


def until_none_is_running(server: ServerThread[App]) -> None:
    while running(server):  # the test's own timeout ends it
        pass


def test_a_stalled_download_delays_nobody(serve: Serve, catalog: Catalog, stall: Stall) -> None:
    """Pages and other downloads continue; the unread rest is not in memory."""
    server = serve(catalog)
    for _ in range(3):
        stall(server)
    assert running(server) == 3
    with httpx.Client(base_url=server.url) as client:
        assert len(client.get("/api/tables/wide.csv").content) == len("x\r\n") + ROWS * (len(WIDE) + 2)
        assert client.get("/api/tables/users_ui/rows?sort=name").json()["total"] == 3
    assert running(server) == 3


def test_downloads_are_limited(serve: Serve, catalog: Catalog, stall: Stall, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is refused with a retry time, for any table, until one ends."""
    monkeypatch.setattr(downloads, "MAX_DOWNLOADS", 2)
    server = serve(catalog)
    first, _ = stall(server), stall(server, "127.0.0.2")
    answer = httpx.get(f"{server.url}/api/tables/users_ui.arrow")
    assert (answer.status_code, answer.json()["condition"]) == (503, "TOO_MANY_EXPORTS")
    assert (answer.headers["retry-after"], answer.json()["message"][:29]) == ("2", "2 exports are being downloade")
    first.close()
    while running(server) > 1:
        pass
    assert httpx.get(f"{server.url}/api/tables/users_ui.arrow").status_code == 200


def test_one_client_leaves_a_place_to_others(
    serve: Serve, catalog: Catalog, stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slowly it reads."""
    monkeypatch.setattr(downloads, "MAX_DOWNLOADS", 3)
    server = serve(catalog)
    for _ in range(2):
        stall(server)
    answer = httpx.get(f"{server.url}/api/tables/users_ui.csv")
    assert (answer.status_code, answer.json()["condition"]) == (503, "TOO_MANY_EXPORTS")
    assert answer.json()["message"].startswith("2 exports are being downloaded from this address")
    with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2")) as other:
        assert other.get(f"{server.url}/api/tables/users_ui.csv").status_code == 200


def test_refused_exports_do_not_count(serve: Serve, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong parameters, unknown names and HEAD count as no download."""
    monkeypatch.setattr(downloads, "MAX_DOWNLOADS", 1)
    server = serve(catalog)
    for _ in range(3):
        assert httpx.get(f"{server.url}/api/tables/wide.csv?columns=z").status_code == 400
        assert httpx.get(f"{server.url}/api/tables/nope.csv").status_code == 404
        assert httpx.head(f"{server.url}/api/tables/wide.csv").status_code == 200
    assert running(server) == 0


def test_a_download_that_is_not_read_ends(
    serve: Serve,
    catalog: Catalog,
    stall: Stall,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The log reports it, and the client notices that the file is incomplete."""
    monkeypatch.setattr(downloads, "STALLED_S", 0.1)
    server = serve(catalog)
    stalled = stall(server)
    until_none_is_running(server)
    server.stop()
    assert "The download of wide was aborted: its client took nothing for 0.1 s." in caplog.text
    stalled.settimeout(60)
    taken = b""
    while piece := _rest(stalled):
        taken = piece[-7:]
    assert taken[-5:] != b"0\r\n\r\n"


def _rest(stalled: socket.socket) -> bytes:
    try:
        return stalled.recv(1 << 20)
    except ConnectionResetError:
        return b""


class Counting(BoundedTable):
    """A table whose snapshots count reads, and can fail at one."""

    taken = 0
    fails_at: int | None = None

    def snapshot(self, slots: Slots | None = None) -> StoredSnapshot:
        made = super().snapshot(slots)
        take = made.take

        def counted(*args: object) -> object:
            self.taken += 1
            if self.taken == self.fails_at:
                raise ValueError("no more")
            return take(*args)  # type: ignore[arg-type]

        made.take = counted  # type: ignore[method-assign, assignment]
        return made


def counting(fails_at: int | None = None) -> Counting:
    made = Counting(parse_columns({"x": "string"}), 100_000)
    made.append([(WIDE,)] * ROWS)
    made.fails_at = fails_at
    return made


def test_a_cancelled_download_ends(serve: Serve, stall: Stall) -> None:
    """The rest of the table is not read."""
    wide = counting()
    server = serve(Catalog([], {"wide": wide}))
    stall(server).close()
    until_none_is_running(server)
    assert wide.taken < 100


def test_a_failure_during_a_download(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """The client notices that the file is incomplete, and the log has the reason."""
    server = serve(Catalog([], {"wide": counting(fails_at=3)}))
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
        httpx.get(f"{server.url}/api/tables/wide.csv")
    until_none_is_running(server)
    server.stop()
    assert "no more" in caplog.text


def test_the_server_stops_during_a_download(serve: Serve, catalog: Catalog, stall: Stall) -> None:
    """A client that does not read does not delay the stop, and no thread is left."""
    server = serve(catalog)
    stall(server)
    server.stop()
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("evertable")]
    assert left == []
