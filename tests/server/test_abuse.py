"""Hostile clients and odd tables disturb no other viewer, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import struct
import threading
from contextlib import suppress
from random import Random
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs
from tests.live.samples import USERS, catalog_of, numbered, table
from tests.server.conftest import Serve
from tests.server.raw import CLOSE, PING, TEXT, RawSocket, framed
from tests.server.viewers import Viewer, live
from tests.waiting import wait_until

from evertable.live.hub import Hub
from evertable.protocol.values import MAX_TEXT
from evertable.schema.columns import parse_columns
from evertable.server.operations import resident_bytes
from evertable.server.socket import Sockets
from evertable.tables.bounded import BoundedTable

ABUSERS = 600
CYCLES = 1_000

REQUESTS: list[dict[str, Any]] = [
    {"type": "subscribe", "id": "a", "table": "users_ui", "tag": 1, "view": {"limit": 10, "sort": ["-age"]}},
    {
        "type": "subscribe",
        "id": "b",
        "table": "users_ui",
        "view": {"limit": 2_000, "filter": "age > 3 and name is null"},
    },
    {"type": "subscribe", "id": "c", "table": "users_ui", "view": {"columns": [], "newestFirst": True}},
    {"type": "subscribe", "id": "d", "table": "nothing"},
    {"type": "view", "id": "a", "tag": 2, "view": {"offset": 2**53 - 1, "limit": 10_000}},
    {"type": "view", "id": "b", "view": {"filter": "age in (1, 2"}},
    {"type": "unsubscribe", "id": "a"},
    {"type": "ping", "tag": 3},
]


class Abuse:
    """Generates frames of a broken or hostile client."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def next(self) -> bytes:
        chance = self._random.random()
        if chance < 0.15:
            return self._random.randbytes(self._random.randint(1, 300))
        if chance < 0.3:
            return framed(self._random.randbytes(self._random.randint(0, 125)), self._random.randrange(16))
        if chance < 0.4:
            return framed(b"x" * self._random.choice([0, 125, 126, 65_535, 65_536, 65_537]), TEXT)
        if chance < 0.45:
            return framed(b"", self._random.choice([PING, CLOSE]))
        text = json.dumps(self._random.choice(REQUESTS)).encode()
        whole = framed(text if chance < 0.8 else self._mutated(text))
        return whole if self._random.random() < 0.9 else whole[: self._random.randrange(len(whole))]

    def _mutated(self, text: bytes) -> bytes:
        changed = bytearray(text)
        for _ in range(self._random.randint(1, 4)):
            at = self._random.randrange(len(changed))
            if self._random.random() < 0.5:
                changed[at] = self._random.randrange(256)
            else:
                changed[at : at + self._random.randint(0, 5)] = self._random.randbytes(self._random.randint(0, 3))
        return bytes(changed)


def end(hub: Hub, sockets: Sockets) -> None:
    """Checks that nothing is left of closed sockets."""
    wait_until(lambda: not len(sockets), "sockets end")
    assert (hub.views, hub.subscriptions) == (0, 0)
    wait_until(lambda: not hub.orders, "orders are dropped")


def test_abuse_disturbs_nobody(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """Random, mutated and half frames and sudden disconnects; a viewer's pages stay correct."""
    random, rows = Random(4), BoundedTable(USERS, 500)
    rows.put(dict(enumerate(numbered(50))))
    server, hub, sockets = live(serve, catalog_of(users_ui=rows))
    abuse, left_open = Abuse(random), list[RawSocket]()
    with Viewer(server.url) as good, capture_logs() as logs:
        pictures = {
            "plain": good.subscribe("users_ui", "plain", limit=20),
            "newest": good.subscribe("users_ui", "newest", limit=5, newestFirst=True),
            "sorted": good.subscribe("users_ui", "sorted", limit=10, sort=["-age"], filter="age >= 0"),
        }
        for n in range(ABUSERS):
            bad = RawSocket(server.port)
            with suppress(OSError):
                for _ in range(random.randint(1, 6)):
                    bad.socket.sendall(abuse.next())
            if random.random() < 0.2:
                left_open.append(bad)
            else:
                if random.random() < 0.5:  # without a closing frame: the server gets an error
                    bad.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                bad.socket.close()
            rows.put({n % 30: ("u", f"change {n}", n), 1_000 + n: ("new", "row", -n)})
            if n % 5 == 0:
                good.settle(n)
        expected = [list(row) for row in rows.rows()]
        by_age = sorted((row for row in expected if row[2] >= 0), key=lambda row: -row[2])
        good.until(lambda: pictures["plain"].rows == expected[:20])
        good.until(lambda: pictures["newest"].rows == expected[::-1][:5])
        good.until(lambda: [row[2] for row in pictures["sorted"].rows] == [row[2] for row in by_age[:10]])
        good.settle(ABUSERS)
        assert {picture.total for picture in (pictures["plain"], pictures["newest"])} == {len(expected)}
    assert (logs, [record.message for record in caplog.records]) == ([], [])
    for bad in left_open:
        bad.socket.close()
    end(hub, sockets)


def test_disconnected_viewers_leave_nothing(serve: Serve) -> None:
    """After a thousand of them no view, order, task, thread or memory is left."""
    rows = table(rows=numbered(200))
    server, hub, sockets = live(serve, catalog_of(users_ui=rows))

    def tasks() -> int:
        async def count() -> int:
            return len(asyncio.all_tasks())

        return asyncio.run_coroutine_threadsafe(count(), hub.loop).result(30)

    def others() -> int:
        """Counts threads except workers, which are started on demand up to a fixed number."""
        return sum(not thread.name.startswith("evertable-worker") for thread in threading.enumerate())

    used = threads = idle = 0
    for n in range(CYCLES):
        with RawSocket(server.port) as viewer:
            viewer.send(type="subscribe", id="a", table="users_ui", view={"limit": n % 50, "filter": f"age > {n}"})
            viewer.send(type="subscribe", id="b", table="users_ui", view={"limit": 1_001 + n, "sort": ["-age"]})
            viewer.send(type="view", id="b", view={"offset": n, "newestFirst": True})
            if n % 2:
                viewer.send(type="unsubscribe", id="a")
            if n % 3:
                viewer.socket.recv(10)
        if n == CYCLES // 2:
            end(hub, sockets)
            gc.collect()
            used, threads, idle = resident_bytes(), others(), tasks()
    end(hub, sockets)
    gc.collect()
    assert others() <= threads
    wait_until(lambda: tasks() <= idle)
    assert resident_bytes() - used < 8_000_000


def test_wide_tables_and_odd_names(serve: Serve) -> None:
    """Five hundred columns with any names work in pages, patches, sorts, filters and REST."""
    names = ['say "hi"', "it's", "naïve 名前", "a,b", "-minus", "back\\slash", *(f"c{i}" for i in range(494))]
    columns = parse_columns(dict.fromkeys(names, "string"))
    rows = BoundedTable(columns, 1_000)
    rows.put({n: tuple(f"{n} {name}" for name in names) for n in range(30)})
    name = 'odd "table" ü'
    server, *_ = live(serve, catalog_of(**{name: rows}))
    with Viewer(server.url) as viewer:
        whole = viewer.subscribe(name, 'id "1" é', limit=30)
        few = viewer.subscribe(name, "2", columns=names[:6], sort=["--minus", "it's"], filter="\"a,b\" contains '1 a'")
        assert [column["name"] for column in whole.page["columns"]] == names
        assert few.page["table"] == name
        assert [row[0] for row in few.rows] == ['21 say "hi"', '11 say "hi"', '1 say "hi"']
        rows.put({5: tuple(f"changed {name}" for name in names)})
        viewer.until(lambda: whole.rows[5] == [f"changed {name}" for name in names])
        assert whole.kinds == {"page": 1, "patch": 1}
    answer = httpx.get(f"{server.url}/api/tables/{name}/rows", params={"limit": 1, "sort": "it's", "columns": names[2]})
    assert answer.json()["rows"] == [["0 naïve 名前"]]


def test_no_columns_at_all(serve: Serve) -> None:
    """Rows without columns are counted, added and removed."""
    rows = table(rows=numbered(3))
    server, *_ = live(serve, catalog_of(users_ui=rows))
    with Viewer(server.url) as viewer:
        picture = viewer.subscribe("users_ui", columns=[], limit=5)
        assert (picture.rows, picture.page["columns"]) == ([[]] * 3, [])
        rows.append(numbered(1))
        viewer.until(lambda: picture.rows == [[]] * 4)


@pytest.mark.parametrize("type_", ["string", "json"])
def test_huge_texts_make_no_huge_pages(serve: Serve, type_: str) -> None:
    """A page has their beginnings; exports and filters use them whole."""
    rows = BoundedTable(parse_columns({"id": "long", "text": type_}), 1_000)
    long = "é" * 100_000
    rows.put({n: (n, f"{long}{n}") for n in range(100)})
    server, hub, _ = live(serve, catalog_of(users_ui=rows))
    with Viewer(server.url) as viewer:
        picture = viewer.subscribe("users_ui")
        assert picture.rows[12] == [12, "é" * MAX_TEXT + "… (100002 characters)"]
        assert hub.sent_bytes < 100 * 2 * MAX_TEXT + 20_000
        if type_ == "string":
            found = viewer.subscribe("users_ui", "b", filter="text contains 'é77'", columns=["id"])
            assert found.rows == [[77]]
    answer = httpx.get(f"{server.url}/api/tables/users_ui/rows", params={"limit": 1})
    assert answer.json()["rows"] == [[0, "é" * MAX_TEXT + "… (100001 characters)"]]
    exported = httpx.get(f"{server.url}/api/tables/users_ui.csv", params={"filter": "id = 5"}, timeout=60)
    assert exported.text == f"id,text\r\n5,{long}5\r\n"
