"""Frames on the sockets of a real server."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from tests.live.samples import PEOPLE, USERS, catalog_of, numbered, table
from tests.server.conftest import Serve
from tests.server.viewers import WAIT_S, Viewer, live
from tests.waiting import wait_until
from websockets.exceptions import ConnectionClosed

from evertable.live import hub as hub_module
from evertable.live.orders import Order
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.tables.table import Check


def test_a_subscription_begins_with_its_page(serve: Serve, catalog: Catalog) -> None:
    """The page has the same description as in REST."""
    server, *_ = live(serve, catalog)
    with Viewer(server.url) as viewer:
        page = viewer.subscribe("users_ui", tag=5).page
        assert viewer.welcome["limits"] == {
            "page": 10000,
            "subscriptions": 64,
            "frame_bytes": 65536,
            "filter_chars": 2000,
        }
    assert page == {
        "type": "page",
        "id": "a",
        "tag": 5,
        "table": "users_ui",
        "generation": 3,
        "publication": 1,
        "version": 1,
        "total": 3,
        "offset": 0,
        "columns": [{"name": c.name, "type": str(c.type)} for c in USERS],
        "rows": [list(row) for row in PEOPLE],
    }


def test_a_viewer_sees_each_change_of_its_page_and_none_elsewhere(serve: Serve) -> None:
    """Rows of other pages change at most its total."""
    rows = BoundedTable(USERS, 10_000)
    rows.put(dict(enumerate(numbered(300))))
    server, *_ = live(serve, catalog_of(users_ui=rows))
    with Viewer(server.url) as viewer:
        picture = viewer.subscribe("users_ui", offset=100, limit=100)
        assert picture.rows == [list(row) for row in numbered(300)[100:200]]
        for n in range(10):
            rows.put({n: ("u", "elsewhere", n), 200 + n: ("u", "elsewhere", n)})
            rows.put({150: ("u150", "seen", n)})
            viewer.until(lambda n=n: picture.rows[50] == ["u150", "seen", n])  # type: ignore[misc]
        rows.append(numbered(7))
        viewer.until(lambda: picture.total == 307)
        viewer.settle(1)
        assert picture.kinds == {"page": 1, "patch": 10, "total": 1}


def test_newest_first_shows_the_last_row(serve: Serve) -> None:
    """Only the new row is sent; it goes on top and replaces the last one."""
    rows = table(rows=numbered(50))
    server, *_ = live(serve, catalog_of(users_ui=rows))
    with Viewer(server.url) as viewer:
        picture = viewer.subscribe("users_ui", newestFirst=True, limit=10, columns=["age"])
        assert picture.rows == [[age] for age in range(49, 39, -1)]
        for age in range(50, 60):
            rows.append([("u", "new", age)])
            viewer.until(lambda age=age: picture.rows[0] == [age])  # type: ignore[misc]
            assert picture.rows == [[n] for n in range(age, age - 10, -1)]
        assert picture.kinds["page"] == 1


def test_a_sorted_and_filtered_view_is_updated(serve: Serve) -> None:
    """Order, rows, total and single cells."""
    rows = table(rows=numbered(100))
    server, *_ = live(serve, catalog_of(users_ui=rows))
    with Viewer(server.url) as viewer:
        picture = viewer.subscribe("users_ui", sort=["-age"], filter="age >= 90 or name contains 'x'", limit=5)
        assert (picture.total, [row[2] for row in picture.rows]) == (10, [99, 98, 97, 96, 95])
        rows.append([("u", "late", 1000), ("u", "young", 1), ("u", "x", 2)])
        viewer.until(lambda: picture.total == 12)
        assert [row[2] for row in picture.rows] == [1000, 99, 98, 97, 96]


def test_a_view_can_be_changed(serve: Serve) -> None:
    """The new page has the new tag; an invalid view leaves the old one."""
    rows = table(rows=numbered(100))
    server, hub, _ = live(serve, catalog_of(users_ui=rows))
    with Viewer(server.url) as viewer:
        picture = viewer.subscribe("users_ui", limit=3)
        viewer.change_view("a", 1, limit=2, sort=["-age"], columns=["age", "userId"])
        assert picture.rows == [[99, "u99"], [98, "u98"]]
        viewer.change_view("a", 2, filter="age >")
        error = viewer.errors.pop()
        assert (error["condition"], error["position"], error["tag"]) == ("FILTER_INVALID", 5, 2)
        rows.append([("new", "new", 777)])
        viewer.until(lambda: picture.rows[0] == [777, "new"])
        assert picture.page["tag"] == 1
        viewer.send(type="unsubscribe", id="a")
        viewer.settle(9)
        assert (hub.views, hub.subscriptions) == (0, 0)


def test_a_changed_view_never_shows_an_older_page(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a flip, a viewer that changes to a view without an order waits for it."""
    catalog, ready, compute = catalog_of(users_ui=table(rows=numbered(20))), threading.Event(), Order.compute
    monkeypatch.setattr(hub_module, "PREPARE_S", 0.01)
    ready.set()

    def held(order: Order, check: Check) -> Any:
        assert ready.wait(WAIT_S)
        return compute(order, check)

    monkeypatch.setattr(Order, "compute", held)
    server, hub, _ = live(serve, catalog)
    with Viewer(server.url) as others, Viewer(server.url) as viewer:
        others.subscribe("users_ui", "up", sort=["age"])
        others.subscribe("users_ui", "down", sort=["-age"])
        picture = viewer.subscribe("users_ui")
        ready.clear()
        flip = hub.publish(2, {"users_ui": table(rows=numbered(10))})
        asyncio.run_coroutine_threadsafe(flip, hub.loop).result(WAIT_S)
        viewer.until(lambda: picture.page["publication"] == 2)
        viewer.send(type="view", id="a", tag=1, view={"sort": ["age"]})
        viewer.settle(1)
        viewer.send(type="view", id="a", tag=2, view={"sort": ["-age"]})
        viewer.settle(2)
        assert (picture.page["publication"], picture.page["tag"]) == (2, 0)
        ready.set()
        viewer.until(lambda: picture.page["tag"] == 2)
        assert (picture.page["publication"], picture.rows) == (2, [list(row) for row in reversed(numbered(10))])


def test_a_name_without_a_table_waits_for_it(serve: Serve) -> None:
    catalog = Catalog(["users_ui"])
    server, *_ = live(serve, catalog)
    with Viewer(server.url) as viewer:
        picture = viewer.subscribe("users_ui", tag=3, columns=["name", "gone"], sort=["lost"])
        assert viewer.waiting == [{"type": "waiting", "id": "a", "tag": 3, "table": "users_ui"}]
        catalog.publish(1, {"users_ui": table()})
        viewer.until(lambda: picture.page)
        assert picture.page["missing"] == ["gone", "lost"]
        assert picture.rows == [[name] for _, name, _ in PEOPLE]


def test_a_swap_sends_other_columns(serve: Serve, catalog: Catalog) -> None:
    """Missing columns of a view are omitted and listed, until a swap brings them back."""
    server, *_ = live(serve, catalog)
    with Viewer(server.url) as viewer:
        picture = viewer.subscribe("users_ui", columns=["age", "name"], sort=["age"], filter="age > 0")
        assert picture.rows == [[36, "Ada"], [41, 'Çelik, "Eve"\n']]
        catalog.publish(4, {"users_ui": table(USERS[:2], [row[:2] for row in PEOPLE])})
        viewer.until(lambda: picture.page["generation"] == 4)
        assert (picture.page["missing"], picture.rows, picture.total) == (["age"], [], 0)
        assert [column["name"] for column in picture.page["columns"]] == ["name"]
        catalog.publish(5, {"users_ui": table()})
        viewer.until(lambda: picture.page["generation"] == 5)
        assert picture.rows == [[36, "Ada"], [41, 'Çelik, "Eve"\n']]
        assert "missing" not in picture.page


@pytest.mark.parametrize(
    ("frame", "condition"),
    [
        ({"table": "nothing"}, "TABLE_NOT_FOUND"),
        ({"table": "users_ui", "view": {"columns": ["nam"]}}, "COLUMN_NOT_FOUND"),
        ({"table": "users_ui", "view": {"sort": ["-ages"]}}, "COLUMN_NOT_FOUND"),
        ({"table": "users_ui", "view": {"filter": "age = 'x'"}}, "FILTER_INVALID"),
        ({"table": "users_ui", "view": {"filter": "x" * 2001}}, "FILTER_TOO_LONG"),
        ({"table": "users_ui", "view": {"limit": 10_001}}, "PAGE_TOO_LARGE"),
        ({"table": "users_ui", "id": "there"}, "SUBSCRIPTION_EXISTS"),
        ({"type": "view"}, "SUBSCRIPTION_NOT_FOUND"),
    ],
)
def test_an_error_frame_leaves_the_socket_open(
    serve: Serve, catalog: Catalog, frame: dict[str, Any], condition: str
) -> None:
    server, hub, _ = live(serve, catalog)
    with Viewer(server.url) as viewer:
        viewer.subscribe("users_ui", name="there")
        viewer.send(**{"type": "subscribe", "id": "b", "tag": 8, **frame})
        viewer.until(lambda: viewer.errors)
        assert (viewer.errors[0]["condition"], viewer.errors[0]["tag"]) == (condition, 8)
        viewer.settle(1)
        assert hub.subscriptions == 1


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("not json", 4400),
        ("[]", 4400),
        ('{"type": "nonsense"}', 4400),
        ('{"type": "subscribe", "id": "a"}', 4400),
        ('{"type": "ping", "more": 1}', 4400),
        (b"\x00\x01", 1003),
        ("x" * 70_000, 1009),
    ],
)
def test_a_bad_frame_ends_its_socket_and_no_other(serve: Serve, catalog: Catalog, sent: str | bytes, code: int) -> None:
    server, hub, sockets = live(serve, catalog)
    with Viewer(server.url) as good, Viewer(server.url) as bad:
        good.subscribe("users_ui")
        bad.subscribe("users_ui")
        bad.socket.send(sent)
        with pytest.raises(ConnectionClosed) as closed:
            bad.until(lambda: False)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == code
        good.settle(1)
        wait_until(lambda: (len(sockets), hub.subscriptions) == (1, 1))


def test_subscriptions_are_limited_and_nobody_else_is_disturbed(serve: Serve, catalog: Catalog) -> None:
    """Ten thousand are requested; those over the limit are refused."""
    server, hub, _ = live(serve, catalog)
    with Viewer(server.url) as greedy, Viewer(server.url) as other:
        for i in range(10_000):
            greedy.send(type="subscribe", id=f"s{i}", table="users_ui", view={"offset": i % 100})
            if i % 500 == 0:
                other.subscribe("users_ui", name=f"o{i}")
                other.send(type="unsubscribe", id=f"o{i}")
        greedy.settle(1)
        greedy.until(lambda: len(greedy.pictures) == 64)
        assert {error["condition"] for error in greedy.errors} == {"TOO_MANY_SUBSCRIPTIONS"}
        assert len(greedy.errors) == 10_000 - 64
        other.settle(2)
        assert hub.subscriptions == 64


def test_sockets_are_limited(serve: Serve, catalog: Catalog) -> None:
    """The one over the limit is refused before the handshake; a free place can be taken."""
    server, _, sockets = live(serve, catalog, max_sockets=2)
    with Viewer(server.url), Viewer(server.url) as second:
        with pytest.raises(Exception, match="503"):
            Viewer(server.url)
        second.close()
        wait_until(lambda: len(sockets) == 1)
        with Viewer(server.url) as third:
            third.subscribe("users_ui", tag=WAIT_S)
