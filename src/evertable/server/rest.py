"""``/api/tables``: what tables there are, their rows, and whole tables as files."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evertable.server import reading
from evertable.server.downloads import Downloads
from evertable.server.exports import Format
from evertable.server.parameters import CSV, PAGE, SHAPE, check_names
from evertable.server.refusals import RETRY_AFTER, Refused, json_response
from evertable.server.workers import Workers
from evertable.tables.catalog import Catalog

P = ParamSpec("P")
T = TypeVar("T")

MAX_WAITING = 256  # requests in line for a worker


class Tables:
    """The addresses under ``/api/tables``."""

    def __init__(self, catalog: Catalog, workers: Workers, downloads: Downloads, max_page: int) -> None:
        self._catalog = catalog
        self._workers = workers
        self._downloads = downloads
        self._max_page = max_page
        self._waiting = 0

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/api/tables", self.listed),
            Route("/api/tables/{name}/rows", self.rows),
            Route("/api/tables/{name}.csv", self.csv),
            Route("/api/tables/{name}.arrow", self.arrow),
            Route("/api/tables/{name}", self.one),
        ]

    async def listed(self, request: Request) -> Response:
        check_names(request.query_params.multi_items(), ())
        return json_response({"tables": await self._read(reading.overview, self._catalog)})

    async def one(self, request: Request) -> Response:
        check_names(request.query_params.multi_items(), ())
        return json_response(await self._read(reading.about, self._catalog, request.path_params["name"]))

    async def rows(self, request: Request) -> Response:
        pairs = request.query_params.multi_items()
        check_names(pairs, PAGE)
        body = await self._read(reading.page, self._catalog, request.path_params["name"], pairs, self._max_page)
        return Response(body, media_type="application/json")

    async def csv(self, request: Request) -> Response:
        return await self._export(request, Format.CSV)

    async def arrow(self, request: Request) -> Response:
        return await self._export(request, Format.ARROW)

    async def _export(self, request: Request, format: Format) -> Response:  # noqa: A002
        pairs = request.query_params.multi_items()
        check_names(pairs, CSV if format is Format.CSV else SHAPE)
        return await self._downloads.start(self._catalog, request.path_params["name"], pairs, format)

    async def _read(self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Reads on a worker: a table's lock may be held for a while, and sorting takes its time."""
        if self._waiting >= MAX_WAITING:
            raise Refused(503, "SERVER_BUSY", "Too many requests wait to be answered.", RETRY_AFTER)
        self._waiting += 1
        try:
            return await self._workers.run(read, *args, **kwargs)
        finally:
            self._waiting -= 1
