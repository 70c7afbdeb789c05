"""Sends exports as fast as each client takes them, without blocking other requests."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from evertable.live.workers import Workers
from evertable.server.exports import Extract, FileFormat
from evertable.server.refusals import RETRY_AFTER
from evertable.server.requests import disconnected
from evertable.server.security import Refusal
from evertable.tables.table import Check

log = logging.getLogger(__name__)

MAX_DOWNLOADS = 8  # each keeps a snapshot in memory, with rows that the table has dropped since
STALLED_S = 60  # the download of a client that takes nothing for so long is aborted


class Downloads:
    """The exports in progress, of which there are at most ``MAX_DOWNLOADS``; one client leaves a place to others."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self._share = max(1, MAX_DOWNLOADS - 1)
        self._busy: Counter[str] = Counter()

    @property
    def running(self) -> int:
        return sum(tuple(self._busy.values()))

    async def start(
        self, extract: Callable[[Check], Extract], file_format: FileFormat, client: str, wait_s: float
    ) -> Response:
        """Returns the response with the whole export, which reads from a snapshot taken now."""
        if self.running >= MAX_DOWNLOADS:
            message = f"{MAX_DOWNLOADS} exports are being downloaded, which is the limit. Try again later."
            raise Refusal(503, "TOO_MANY_EXPORTS", message, RETRY_AFTER)
        if self._busy[client] >= self._share:
            message = f"{self._share} exports are being downloaded from this address, which is the most at once."
            raise Refusal(503, "TOO_MANY_EXPORTS", message, RETRY_AFTER)
        self._busy[client] += 1
        try:
            return _Download(self, await self.workers.run(extract, client, wait_s), file_format, client)
        except BaseException:
            self.end(client)
            raise

    def end(self, client: str) -> None:
        """A download of this client is over, however it went."""
        self._busy -= Counter((client,))


class _Download(Response):
    """The response with one export; it counts as running until it is sent."""

    def __init__(self, downloads: Downloads, extract: Extract, file_format: FileFormat, client: str) -> None:
        self._table = extract.selection.name
        disposition = _attachment(f"{self._table}.{file_format.suffix}")
        super().__init__(headers={"Content-Disposition": disposition}, media_type=file_format.media_type)
        del self.headers["Content-Length"]  # not known in advance
        self._downloads = downloads
        self._pieces = file_format.pieces(extract)
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends piece after piece; stops without an end of file if the client disconnects or stalls."""
        leaving = asyncio.create_task(disconnected(receive))
        pieces: Iterator[bytes] = iter(()) if scope["method"] == "HEAD" else self._pieces
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while not leaving.done():
                piece = await self._downloads.workers.run(lambda _check: next(pieces, None), self._client)
                async with asyncio.timeout(STALLED_S):
                    await send({"type": "http.response.body", "body": piece or b"", "more_body": piece is not None})
                if piece is None:
                    return
        except TimeoutError:
            log.warning("The download of %s was aborted: its client took nothing for %s s.", self._table, STALLED_S)
        finally:
            leaving.cancel()
            self._downloads.end(self._client)


def _attachment(name: str) -> str:
    """Returns a header with the name in full (RFC 6266), and in ASCII for clients that do not know that."""
    plain = "".join(char if char.isascii() and char not in '"\\%' else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
