"""Viewers that reconnect whenever they lose their socket, and record what a viewer must never see."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import websockets
from tests.live.picture import Frame, Picture
from tests.serving.viewers import Viewers
from websockets.exceptions import ConnectionClosed, InvalidMessage

from evertable.client import Client

TABLES = ("users_ui", "accounts_ui", "final_ui", "dead_letters")
MARKED = ("name", "accountType", "topic")
"""Columns that identify the topic of a row; ``topic`` is that of dead letters."""
RECONNECT_S = 0.2
RECEIVE_BUFFER = 4_096
"""Bytes: small, so that the server soon notices a viewer that does not read."""


@dataclass(frozen=True)
class Emptiness:
    """A table that a viewer saw with rows, and later without any."""

    table: str
    generation: int


@dataclass(frozen=True)
class Loss:
    """A socket that ended, and when it was open, in seconds since 1970."""

    viewer: int
    opened: float
    ended: float
    how: str


class Witness:
    """Collects what all viewers see; thread-safe."""

    def __init__(self) -> None:
        self.problems: Counter[str] = Counter()
        self.marks: dict[tuple[int, str], set[str]] = {}
        """The topics of rows, by generation and column."""
        self.generations: dict[int, int] = {}
        """The generation of each publication."""
        self.empty: set[Emptiness] = set()
        self.pages = 0
        self._lock = threading.Lock()

    def problem(self, what: str) -> None:
        with self._lock:
            self.problems[what] += 1

    def saw(self, page: Mapping[str, Any], had_rows: bool) -> None:
        """Records a page of a viewer; ``had_rows`` is whether it has seen rows of that table before."""
        generation, publication = page["generation"], page["publication"]
        with self._lock:
            self.pages += 1
            known = self.generations.setdefault(publication, generation)
            if known != generation:
                self.problems[f"publication {publication} was of generation {known} and of {generation}"] += 1
            for at, column in enumerate(page["columns"]):
                if column["name"] in MARKED:
                    seen = self.marks.setdefault((generation, column["name"]), set())
                    seen |= {str(row[at]).split()[0] for row in page["rows"] if row[at] is not None}
            if had_rows and page["total"] == 0:
                self.empty.add(Emptiness(page["table"], generation))


class Crowd(Viewers):
    """Viewers that reconnect; some of them can stop reading for a while."""

    def __init__(self, url: str, viewers: int, witness: Witness) -> None:
        super().__init__(url, viewers, TABLES)
        self.losses: list[Loss] = []
        self._witness = witness
        self._had_rows: set[tuple[int, str]] = set()
        self._publication: Counter[tuple[int, str]] = Counter()
        self._may_read = [asyncio.Event() for _ in range(viewers)]
        for event in self._may_read:
            event.set()

    def stall(self, viewers: Iterable[int], *, stalled: bool) -> None:
        for number in viewers:
            event = self._may_read[number]
            self._loop.call_soon_threadsafe(event.clear if stalled else event.set)

    async def _watch(self, number: int) -> None:
        while True:
            for table in TABLES:
                self.pictures[number][table] = Picture()  # a new socket starts from nothing
            opened = time.time()
            try:
                await self._watch_on_one_socket(number)
                how = "an ordinary end"
            except ConnectionRefusedError:
                opened, how = 0.0, ""  # the server is down
            except (OSError, EOFError, ConnectionClosed, InvalidMessage) as error:
                how = repr(error)
            except Exception as error:
                self._witness.problem(f"viewer: {error!r}")
                how = repr(error)
            if opened:
                self.losses.append(Loss(number, opened, time.time(), how))
            await asyncio.sleep(RECONNECT_S)

    def _open(self, **options: Any) -> websockets.connect:
        port = urlsplit(self._url).port
        receiver = socket.socket()
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        try:
            receiver.connect(("127.0.0.1", port))
        except OSError:
            receiver.close()
            raise
        return super()._open(
            sock=receiver, max_queue=1, ping_interval=None, open_timeout=60, close_timeout=1, **options
        )

    async def _taken(self, number: int) -> None:
        await self._may_read[number].wait()

    def _take(self, pictures: Mapping[str, Picture], frame: Frame) -> None:
        if frame["type"] == "error":
            self._witness.problem(f"an error frame: {frame['condition']}")
            return
        super()._take(pictures, frame)
        if frame["type"] in ("page", "patch", "total"):
            number = next(at for at, each in enumerate(self.pictures) if each is pictures)
            self._judge(number, pictures[frame["id"]].page)

    def _judge(self, number: int, page: Frame) -> None:
        who = number, page["table"]
        if page["publication"] < self._publication[who]:
            self._witness.problem(f"publication {page['publication']} after {self._publication[who]}")
        self._publication[who] = page["publication"]
        self._witness.saw(page, who in self._had_rows)
        if page["total"]:
            self._had_rows.add(who)

    def _check(self, page: Frame) -> None:
        """Does nothing: the witness checks the pages of all sockets together."""


class Follower:
    """Watches a table with the Python client, which reconnects by itself and must never end."""

    def __init__(self, url: str, table: str, witness: Witness) -> None:
        self._client = Client(url)
        self._watch = self._client.table(table).watch(sort=["-userId"], limit=50)
        self._witness = witness
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="test-follower", daemon=True)

    def _run(self) -> None:
        had_rows = False
        try:
            for page in self._watch:
                columns = [{"name": column.name} for column in page.columns]
                seen = {name: getattr(page, name) for name in ("table", "generation", "publication", "total", "rows")}
                self._witness.saw({**seen, "columns": columns}, had_rows)
                had_rows = had_rows or page.total > 0
        except Exception as error:
            self._witness.problem(f"the Python client's watch ended: {error!r}")
        if not self._closing:
            self._witness.problem("the Python client's watch ended")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self._client.close()
        self._thread.join(30)
