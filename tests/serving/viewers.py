"""Many viewers in one thread, with real sockets that stay open; every frame is checked on arrival."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Self

import websockets
from tests.live.picture import Frame, Picture
from tests.waiting import wait_until
from websockets.typing import Subprotocol

from evertable.protocol.frames import SUBPROTOCOL

VIEWS: list[dict[str, Any]] = [
    {},
    {"newestFirst": True, "limit": 20},
    {"sort": ["-userId"], "limit": 30},
    {"filter": "userId < 'u0300'", "limit": 50},
    {"offset": 10, "limit": 1_000},
]
MARKS: dict[str, Callable[[Any], str]] = {"name": lambda name: str(name).split()[0], "accountType": str}
"""Columns that identify the pair of topics of a row."""


class Viewers:
    """Viewers of these tables, each with one socket; ``problems`` lists what went wrong."""

    def __init__(self, url: str, viewers: int, tables: tuple[str, ...]) -> None:
        self.problems: list[str] = []
        self.marks: dict[int, str] = {}
        """The pair of topics of the rows, by generation."""
        self.frames: Counter[str] = Counter()
        self.pictures = [{table: Picture() for table in tables} for _ in range(viewers)]
        self._url = url.replace("http", "ws", 1) + "/ws"
        self._closing = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="test-viewers", daemon=True)

    def publications(self) -> set[int]:
        """Returns the publications that viewers have now."""
        return {picture.page.get("publication", 0) for seen in self.pictures for picture in seen.values()}

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self.problems or 0 not in self.publications(), "a page for every viewer")
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(30)

    async def _run(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        watching = [asyncio.create_task(self._watch(i)) for i in range(len(self.pictures))]
        await self._ended.wait()
        for viewer in watching:
            viewer.cancel()
        await asyncio.gather(*watching, return_exceptions=True)

    async def _watch(self, number: int) -> None:
        try:
            await self._watch_on_one_socket(number)
        except Exception as error:
            self.problems.append(f"viewer {number}: {error!r}")
        else:
            self.problems.append(f"viewer {number}: its socket ended")

    async def _watch_on_one_socket(self, number: int) -> None:
        pictures = self.pictures[number]
        async with self._open() as socket:
            for table in pictures:
                view = {} if table == "dead_letters" else VIEWS[number % len(VIEWS)]  # it has none of the columns
                await socket.send(json.dumps({"type": "subscribe", "id": table, "table": table, "view": view}))
            async for text in socket:
                self._take(pictures, json.loads(text))
                await self._taken(number)

    def _open(self, **options: Any) -> websockets.connect:
        return websockets.connect(
            self._url, subprotocols=[Subprotocol(SUBPROTOCOL)], compression=None, max_size=None, **options
        )

    async def _taken(self, number: int) -> None:
        """Is awaited after each frame, so that a subclass can read slowly."""

    def _take(self, pictures: Mapping[str, Picture], frame: Frame) -> None:
        self.frames[frame["type"]] += 1
        match frame["type"]:
            case "page" | "patch" | "total":
                picture = pictures[frame["id"]]
                picture.apply(frame)
                self._check(picture.page)
            case "welcome" | "waiting":
                pass
            case other:
                raise AssertionError(f"{other}: {frame}")

    def _check(self, page: Frame) -> None:
        """Checks that all rows of a generation are of the same topics, for every viewer and table."""
        generation = page["generation"]
        for at, column in enumerate(page["columns"]):
            if mark_of := MARKS.get(column["name"]):
                for mark in {mark_of(row[at]) for row in page["rows"] if row[at] is not None}:
                    known = self.marks.setdefault(generation, mark)
                    assert mark == known, f"a row of {mark} in generation {generation} of {known}"
