"""Flips under many open sockets."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import websockets
from tests.live.picture import Picture
from tests.live.samples import USERS, table
from tests.server.conftest import Serve
from tests.server.viewers import live
from websockets.typing import Subprotocol

from evertable.protocol.frames import SUBPROTOCOL
from evertable.tables.catalog import Catalog

SOCKETS, FLIPS = 200, 50
VIEWS: list[dict[str, Any]] = [
    {},
    {"newestFirst": True, "limit": 20},
    {"sort": ["-age"], "limit": 50},
    {"filter": "age >= 50", "columns": ["name", "age"]},
    {"offset": 90, "limit": 100},
]


def generation(number: int) -> dict[str, Any]:
    """Makes two tables whose rows carry the generation."""
    rows = [(f"g{number}", f"g{number} {i}", i) for i in range(100)]
    return {"users_ui": table(USERS, rows), "accounts_ui": table(USERS, rows)}


async def watch(url: str, number: int, until: int, ready: asyncio.Barrier) -> dict[str, Picture]:
    """Watches both tables until that publication."""
    pictures = {"users_ui": Picture(), "accounts_ui": Picture()}
    async with websockets.connect(
        url, subprotocols=[Subprotocol(SUBPROTOCOL)], compression=None, open_timeout=60
    ) as socket:
        for name in pictures:
            view = VIEWS[number % len(VIEWS)]
            await socket.send(json.dumps({"type": "subscribe", "id": name, "table": name, "view": view}))
        started = False
        async for text in socket:
            frame = json.loads(text)
            if frame["type"] in ("page", "patch", "total"):
                picture = pictures[frame["id"]]
                picture.apply(frame)
                at = next(i for i, column in enumerate(picture.page["columns"]) if column["name"] == "name")
                seen = {row[at].split()[0] for row in picture.rows}
                assert seen <= {f"g{picture.page['generation']}"}, "a page of two generations"
            if not started and all(picture.page for picture in pictures.values()):
                started = True
                await ready.wait()
            if all(picture.page.get("publication") == until for picture in pictures.values()):
                return pictures
    raise AssertionError("the socket ended")


def test_every_socket_follows_every_flip(serve: Serve) -> None:
    """Pages are of one generation, publications never decrease, no socket closes, all see the last one."""
    catalog = Catalog(["users_ui", "accounts_ui"])
    tables = {number: generation(number) for number in range(1, 6)}
    catalog.publish(1, tables[1])
    server, hub, _ = live(serve, catalog)
    wanted = [number % 5 + 1 if number % 7 else 1 for number in range(1, FLIPS + 1)]  # a rollback now and then

    async def run() -> list[dict[str, Picture]]:
        ready = asyncio.Barrier(SOCKETS + 1)
        url = server.url.replace("http", "ws") + "/ws"
        watching = [asyncio.create_task(watch(url, i, FLIPS + 1, ready)) for i in range(SOCKETS)]
        await ready.wait()
        for number in wanted:
            flip = asyncio.run_coroutine_threadsafe(hub.publish(number, tables[number]), hub.loop)
            await asyncio.wrap_future(flip)
        return await asyncio.gather(*watching)

    pictures = asyncio.run(run())
    assert {picture.page["generation"] for seen in pictures for picture in seen.values()} == {wanted[-1]}
    assert sum(picture.kinds["page"] for seen in pictures for picture in seen.values()) > SOCKETS
