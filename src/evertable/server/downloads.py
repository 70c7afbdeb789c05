"""Sends exports as fast as each client takes them, without blocking other requests."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from evertable.live.workers import Workers
from evertable.server.exports import Extract, Format
from evertable.server.refusals import RETRY_AFTER, Refused
from evertable.server.requests import Pairs, disconnected
from evertable.tables.catalog import Catalog

log = logging.getLogger(__name__)

MAX_DOWNLOADS = 8  # each keeps a snapshot in memory, with rows that the table has dropped since
STALLED_S = 60  # the download of a client that takes nothing for so long is aborted


class Downloads:
    """The exports in progress, of which there are at most ``limit``; one client leaves a place to others."""

    def __init__(self, workers: Workers, limit: int = MAX_DOWNLOADS, stalled_s: float = STALLED_S) -> None:
        self._workers = workers
        self._limit = limit
        self._share = max(1, limit - 1)
        self._busy: Counter[str] = Counter()
        self._stalled_s = stalled_s
        self.running = 0

    async def start(
        self,
        catalog: Catalog,
        name: str,
        pairs: Pairs,
        format: Format,  # noqa: A002
        client: str | None = None,
        wait_s: float | None = None,
    ) -> Response:
        """Returns the response with the whole export, which reads from a snapshot taken now."""
        if self.running >= self._limit:
            message = f"{self._limit} exports are being downloaded, which is the limit. Try again later."
            raise Refused(503, "TOO_MANY_EXPORTS", message, RETRY_AFTER)
        if client is not None and self._busy[client] >= self._share:
            message = f"{self._share} exports are being downloaded from this address, which is the most at once."
            raise Refused(503, "TOO_MANY_EXPORTS", message, RETRY_AFTER)
        self._begin(client)
        try:
            extract = await self._workers.run(lambda check: Extract.of(catalog, name, pairs, check), client, wait_s)
        except BaseException:
            self.end(client)
            raise
        return _Download(self, extract, format, client)

    def _begin(self, client: str | None) -> None:
        self.running += 1
        if client is not None:
            self._busy[client] += 1

    def end(self, client: str | None) -> None:
        """A download of this client is over, however it went."""
        self.running -= 1
        if client is not None:
            self._busy[client] -= 1
            if not self._busy[client]:
                del self._busy[client]

    async def send(self, pieces: Iterator[bytes], table: str, client: str | None, receive: Receive, send: Send) -> None:
        """Sends piece after piece; stops without an end of file if the client disconnects or stalls."""
        leaving = asyncio.create_task(disconnected(receive))
        try:
            while not leaving.done():
                piece = await self._workers.run(lambda _check: next(pieces, None), client)
                async with asyncio.timeout(self._stalled_s):
                    await send({"type": "http.response.body", "body": piece or b"", "more_body": piece is not None})
                if piece is None:
                    return
        except TimeoutError:
            log.warning("The download of %s was aborted: its client took nothing for %s s.", table, self._stalled_s)
        finally:
            leaving.cancel()


class _Download(Response):
    """The response with one export; it counts as running until it is sent."""

    def __init__(self, downloads: Downloads, extract: Extract, format: Format, client: str | None) -> None:  # noqa: A002
        super().__init__(headers={"Content-Disposition": _attachment(f"{extract.table}.{format}")})
        self._downloads = downloads
        self._extract = extract
        self._format = format
        self._client = client
        self.headers["Content-Type"] = format.media_type
        del self.headers["Content-Length"]  # not known in advance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body"})
            else:
                pieces, table = self._extract.pieces(self._format), self._extract.table
                await self._downloads.send(pieces, table, self._client, receive, send)
        finally:
            self._downloads.end(self._client)


def _attachment(name: str) -> str:
    """Returns a header with the name in full (RFC 6266), and in ASCII for clients that do not know that."""
    plain = "".join(char if char.isascii() and char not in '"\\%' else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
