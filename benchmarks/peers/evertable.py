"""Evertable as users run it: ``evertable serve``, POST for swaps, and a WebSocket viewer."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from benchmarks import topics
from benchmarks.peers.system import Pair, Rows, SwapSeen
from benchmarks.served import Served, viewer
from websockets.sync.client import ClientConnection

COLUMNS = ["name", "balance", "sentAt"]
STAMP = COLUMNS.index("sentAt")
KEYS = 1_000
"""Records are spread over so many users, with a natural join those on the viewer's page."""
SILENCE_S = 5.0
"""After this long without a frame, missing records were replaced by newer ones of the same user."""


class Evertable:
    name = "Evertable"

    def __init__(self, bootstrap: str, tiny: Pair) -> None:
        self._bootstrap = bootstrap
        self._tiny = tiny

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        sources = zip(("users", "accounts"), self._tiny, (topics.USERS, topics.ACCOUNTS), strict=True)
        settings: dict[str, Any] = {
            "app": f"bench-{time.time_ns()}",
            "kafka": {"bootstrap.servers": self._bootstrap},
            "sources": {
                name: {"topic": topic, "key": "userId", "columns": columns} for name, topic, columns in sources
            },
            "swap": {"linger_s": 0, "timeout_s": 600},
            "server": {"port": 0},
        }
        self._served = Served(Path(self._folder.name), settings)
        self._served.wait_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self._served.stop()
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        return self._served.pid

    def build(self, pair: Pair, join: str, rows: Rows) -> float:
        with viewer(self._served.url, limit=1) as socket:
            seen = _page(socket)["publication"]
            begin = time.perf_counter()
            self._request(pair, join)
            while (page := _page(socket))["publication"] == seen or page["total"] < rows.joined(join):
                pass
            return time.perf_counter() - begin

    def latencies(self, topic: str, join: str, messages: int, rate: float) -> list[float]:
        begin, ages = time.time_ns(), list[float]()
        with (
            suppress(TimeoutError),
            viewer(self._served.url, columns=COLUMNS, limit=KEYS, newestFirst=join != "natural") as socket,
        ):
            _page(socket)
            with topics.sending(self._bootstrap, topic, KEYS, messages, rate):
                known: set[int] = set()
                while len(known) < messages:
                    frame = json.loads(socket.recv(SILENCE_S))
                    now = time.time_ns()
                    new = {stamp for stamp in stamps(frame) if stamp >= begin} - known
                    known |= new
                    ages += [(now - stamp) / 1e6 for stamp in new]
        return ages

    def swap(self, pair: Pair, called: str, rows: Rows) -> SwapSeen:
        """The viewer stays open. It has nothing while its page has no rows, or only some."""
        nothing, since, first = 0.0, 0.0, 0.0
        with viewer(self._served.url, columns=["name"], limit=100) as socket:
            _page(socket)
            begin = time.perf_counter()
            self._request(pair, "left")
            while True:
                page = _page(socket)
                now = time.perf_counter()
                is_new = bool(page["rows"]) and page["rows"][0][0].startswith(called)
                nothing += now - since if since else 0.0
                since = now if not page["rows"] or (is_new and page["total"] < rows.accounts) else 0.0
                first = first or (now - begin if is_new else 0.0)
                if is_new and page["total"] >= rows.accounts:
                    return SwapSeen(first, first, now - begin, nothing)

    def _request(self, pair: Pair, join: str) -> None:
        message = {"usersTopic": pair[0], "accountsTopic": pair[1], "joinType": join}
        self._served.http.post("/api/control", json=message).raise_for_status()


def newest(join: str) -> dict[str, Any]:
    """Returns a view that shows each record: as a new row on top, or in one of the first rows."""
    return {"columns": COLUMNS, "limit": 2 * KEYS, "newestFirst": join != "natural"}


def _page(socket: ClientConnection) -> dict[str, Any]:
    """Waits for the next page; raises on an error frame."""
    while True:
        frame: dict[str, Any] = json.loads(socket.recv(600))
        if frame["type"] == "page":
            return frame
        if frame["type"] == "error":
            raise RuntimeError(f"error frame: {frame}")


def stamps(frame: dict[str, Any]) -> Iterator[int]:
    """Yields the times when the records of a page or patch were sent."""
    for row in frame.get("rows", ()):
        yield int(row[STAMP] or 0)
    for _, _, put in frame.get("splice", ()):
        for row in put:
            yield int(row[STAMP] or 0)
    for _, column, value in frame.get("cells", ()):
        if column == STAMP:
            yield int(value or 0)
