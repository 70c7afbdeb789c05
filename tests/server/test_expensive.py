"""Expensive queries over real sockets and tables delay nobody else, and end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from tests.live.samples import USERS, catalog_of, numbered, settings, table
from tests.server.conftest import Serve
from tests.server.viewers import Viewer, live
from tests.server_thread import ServerThread
from tests.waiting import PATIENCE_S, wait_until

from evertable.changelog.changes import NO_MATCHES, NO_REJECTS, Changes
from evertable.changelog.schema import ChangelogSchema
from evertable.config.models import Source
from evertable.live.workers import Workers
from evertable.schema.joins import JoinType
from evertable.server import app as app_module
from evertable.server.app import App
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.tables.generation import GenerationTables
from evertable.tables.store import StoredSnapshot
from evertable.tables.table import Slots
from evertable.views import columns as columns_module

MEGABYTE = 1 << 20
ROWS = 48
TEXTS = Source.model_validate(
    {"name": "texts", "topic": "texts_v1", "key": "id", "columns": {"id": "string", "text": "string"}}
)
EXPENSIVE = " or ".join(f"text contains 'aab{number:02}'" for number in range(70))


@pytest.fixture(scope="module")
def texts() -> Catalog:
    """Makes a left join whose left rows have texts of a megabyte."""
    tables = GenerationTables(TEXTS, TEXTS, JoinType.LEFT)
    layouts = ChangelogSchema(TEXTS.columns, TEXTS.columns, JoinType.LEFT).layouts
    ids = [f"t{number}" for number in range(ROWS)]
    arrays = [np.arange(ROWS), np.arange(ROWS), ids, ["é" + "aA" * (MEGABYTE // 2)] * ROWS]
    schema = layouts[0].arrow
    batch = pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(arrays, schema, strict=True)], schema=schema
    )
    tables.fold(Changes((batch, layouts[1].empty), NO_MATCHES, NO_REJECTS, ROWS))
    catalog = Catalog(["texts_ui", "final_ui"])
    catalog.publish(1, {"texts_ui": tables.left, "final_ui": tables.joined})
    return catalog


class PendingRequest(threading.Thread):
    """A request on its own thread; ``answer`` is set when it was answered."""

    def __init__(self, url: str, path: str, **parameters: Any) -> None:
        super().__init__(daemon=True)
        self._client = httpx.Client(base_url=url, timeout=PATIENCE_S)
        self._path, self._parameters = path, parameters
        self.answer: httpx.Response | None = None
        self.start()

    def run(self) -> None:
        with self._client:
            self.answer = self._client.get(self._path, params=self._parameters)


def test_a_long_part_is_refused(serve: Serve, texts: Catalog) -> None:
    """The error names the limit."""
    server, *_ = live(serve, texts)
    part = "a" * 1_499 + "b"
    answer = httpx.get(f"{server.url}/api/tables/texts_ui/rows", params={"filter": f"text contains '{part}'"})
    assert (answer.status_code, answer.json()["condition"]) == (400, "FILTER_INVALID")
    assert "at most 500 characters after 'contains', found 1500" in answer.json()["message"]


@pytest.mark.parametrize("name", ["texts_ui", "final_ui"])
def test_a_long_text_that_almost_matches_is_not_found(serve: Serve, texts: Catalog, name: str) -> None:
    """Every position of a megabyte matches all but the last of 500 characters, in another case."""
    server, *_ = live(serve, texts, query_timeout_s=3_600)
    found = {}
    for part in ("A" * 499 + "b", "a" * 500):
        parameters = {"filter": f"text contains '{part}'", "columns": "id", "limit": "1"}
        answer = httpx.get(f"{server.url}/api/tables/{name}/rows", params=parameters, timeout=PATIENCE_S)
        found[part] = answer.json()["total"]
    assert list(found.values()) == [0, ROWS]


def test_others_are_answered_while_expensive_filters_run(texts: Catalog) -> None:
    """Status, metrics, lists and plain pages, with more such filters than workers from one address."""
    chosen = settings(query_timeout_s=3_600)
    app = App(texts, chosen)
    with ServerThread(app, chosen) as server, Viewer(server.url) as viewer:
        viewer.send(type="subscribe", id="slow", table="final_ui", view={"filter": EXPENSIVE, "columns": ["id"]})
        slow = [PendingRequest(server.url, "/api/tables/texts_ui/rows", filter=EXPENSIVE) for _ in range(6)]
        slow += [PendingRequest(server.url, "/api/tables/texts_ui.csv", filter=EXPENSIVE) for _ in range(2)]
        with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as client:
            for _ in range(5):
                for path in ("/api/status", "/metrics", "/api/tables", "/api/tables/texts_ui/rows?columns=id"):
                    assert client.get(path).status_code == 200
        plain = viewer.subscribe("final_ui", "plain", limit=3, columns=["id"])
        assert plain.rows == [["t0"], ["t1"], ["t2"]]
        assert [one.answer for one in slow] == [None] * 8
        assert "slow" not in viewer.pictures


def test_a_request_over_its_deadline(serve: Serve, texts: Catalog) -> None:
    """Pages and exports end with an error and its remedy."""
    server, *_ = live(serve, texts, query_timeout_s=0.1)
    for path in ("texts_ui/rows", "final_ui/rows", "final_ui.csv"):
        answer = httpx.get(f"{server.url}/api/tables/{path}", params={"filter": EXPENSIVE}, timeout=PATIENCE_S)
        assert (answer.status_code, answer.json()["condition"]) == (504, "QUERY_TIMEOUT")
        assert "longer than 0.1 s" in answer.json()["message"]
        assert "server.query_timeout_s" in answer.json()["message"]


def test_a_subscription_over_its_deadline_ends_with_an_error(serve: Serve, texts: Catalog) -> None:
    """Its id is free again, and nothing else is left."""
    server, hub, _ = live(serve, texts, query_timeout_s=0.1)
    with Viewer(server.url) as viewer:
        viewer.send(type="subscribe", id="a", table="final_ui", tag=3, view={"filter": EXPENSIVE})
        viewer.until(lambda: viewer.errors)
        (error,) = viewer.errors
        assert (error["id"], error["tag"], error["condition"]) == ("a", 3, "QUERY_TIMEOUT")
        wait_until(lambda: (hub.views, hub.queries, hub.orders) == (0, 0, 0))
        assert viewer.subscribe("final_ui", "a", 4, limit=1, columns=["id"]).rows == [["t0"]]


def test_after_a_view_over_its_deadline_the_previous_one_stays(serve: Serve, texts: Catalog) -> None:
    """Pages with the old tag follow, even after two such views in a row."""
    server, hub, _ = live(serve, texts, query_timeout_s=0.1)
    with Viewer(server.url) as viewer:
        viewer.subscribe("final_ui", "a", 1, limit=2, columns=["id"])
        tags = list[tuple[str, int]]()
        viewer.on_frame = lambda frame: tags.append((frame["type"], frame["tag"]))
        for tag in (2, 3):
            where = f"{EXPENSIVE} or id = '{tag}'"
            viewer.send(type="view", id="a", tag=tag, view={"filter": where, "columns": ["id"]})
        viewer.until(lambda: ("page", 1) in tags)
        assert tags == [("error", 3), ("error", 2), ("page", 1)]
        assert (viewer.pictures["a"].rows, hub.queries) == ([["t0"], ["t1"]], 0)


class Slow(BoundedTable):
    """A table whose snapshots block the first read, and count all of them."""

    def __init__(self, rows: int) -> None:
        super().__init__(USERS, rows)
        self.append(numbered(rows))
        self.taken, self.go = 0, threading.Event()

    def snapshot(self, slots: Slots | None = None) -> StoredSnapshot:
        made = super().snapshot(slots)
        take: Callable[..., pa.RecordBatch] = made.take

        def counted(slots: Slots, columns: list[int]) -> pa.RecordBatch:
            self.taken += 1
            assert self.go.wait(60)
            return take(slots, columns)

        made.take = counted  # type: ignore[method-assign, assignment]
        return made


@pytest.mark.parametrize("path", ["users_ui/rows?filter=age%20%3E%205", "users_ui.csv?filter=age%20%3E%205"])
def test_a_disconnect_stops_the_query(serve: Serve, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """The rest of the table is not read."""
    monkeypatch.setattr(columns_module, "MAX_ROWS", 10)
    rows, workers = Slow(1_000), Workers(2)
    monkeypatch.setattr(app_module, "Workers", lambda *_given, **_options: workers)
    server = serve(catalog_of(users_ui=rows))
    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
        leaving.sendall(f"GET /api/tables/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: rows.taken)
    wait_until(lambda: not workers.running)
    rows.go.set()
    server.stop()  # waits for the workers
    assert rows.taken == 1


def test_an_unsubscribe_stops_the_query(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter without viewers is not computed to its end."""
    monkeypatch.setattr(columns_module, "MAX_ROWS", 10)
    rows = Slow(1_000)
    server, hub, _ = live(serve, catalog_of(users_ui=rows))
    with Viewer(server.url) as viewer:
        viewer.send(type="subscribe", id="a", table="users_ui", view={"filter": "age > 5"})
        wait_until(lambda: rows.taken)
        viewer.send(type="unsubscribe", id="a")
        wait_until(lambda: not hub.orders)
        viewer.settle(1)  # by now the work was cancelled
        rows.go.set()
    server.stop()  # waits for the workers
    assert rows.taken == 1


def test_different_queries_are_limited(serve: Serve) -> None:
    """Existing ones continue; a query in use, none, or a replacement is accepted."""
    rows = table(rows=numbered(10))
    server, hub, _ = live(serve, catalog_of(users_ui=rows), max_queries=2)
    with Viewer(server.url) as first, Viewer(server.url) as second:
        older = first.subscribe("users_ui", "a", filter="age > 5")
        first.subscribe("users_ui", "b", sort=["-age"])
        second.send(type="subscribe", id="c", table="users_ui", view={"filter": "age > 6"})
        second.until(lambda: second.errors)
        assert second.errors[0]["condition"] == "TOO_MANY_QUERIES"
        assert "2 different sorts and filters" in second.errors[0]["message"]
        assert "server.max_queries" in second.errors[0]["message"]
        second.subscribe("users_ui", "d")
        second.subscribe("users_ui", "e", filter="age > 5", limit=1)
        assert second.change_view("d", 1, sort=["-age"], limit=1).total == 10
        rows.append([("u", "new", 50)])
        first.until(lambda: older.total == 5)
        first.send(type="unsubscribe", id="b")
        second.send(type="unsubscribe", id="d")
        wait_until(lambda: hub.queries == 1)
        assert second.subscribe("users_ui", "c", 5, filter="age > 6").total == 4
        assert second.change_view("c", 6, filter="age > 7").total == 3
    wait_until(lambda: hub.queries == 0)


def test_different_views_are_limited(serve: Serve) -> None:
    """Views without sort and filter count, too: each is a separate page that changes with every row."""
    server, hub, _ = live(serve, catalog_of(users_ui=table(rows=numbered(10))), max_views=2)
    with Viewer(server.url) as first, Viewer(server.url) as second:
        first.subscribe("users_ui", "a", limit=1)
        first.subscribe("users_ui", "b", limit=2)
        second.send(type="subscribe", id="c", table="users_ui", view={"limit": 3})
        second.until(lambda: second.errors)
        assert second.errors[0]["condition"] == "TOO_MANY_VIEWS"
        assert "2 different views" in second.errors[0]["message"]
        assert "server.max_views" in second.errors[0]["message"]
        second.subscribe("users_ui", "d", limit=2)
        first.change_view("a", 1, limit=1, offset=5)
        assert hub.views == 2
        second.send(type="view", id="d", tag=2, view={"limit": 4})
        second.until(lambda: len(second.errors) == 2)
        first.send(type="unsubscribe", id="a")
        wait_until(lambda: hub.views == 1)
        second.change_view("d", 3, limit=4)
    wait_until(lambda: hub.views == 0)
