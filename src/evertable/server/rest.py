"""``/api/tables``: the list of tables, their rows, and whole tables as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evertable.config.server import Server
from evertable.live.workers import Workers
from evertable.server import reading
from evertable.server.downloads import Downloads
from evertable.server.exports import ARROW, CSV, Extract, FileFormat
from evertable.server.refusals import RETRY_AFTER, json_response
from evertable.server.requests import PAGE, client_of, parameters, while_connected
from evertable.server.security import Refusal
from evertable.tables.catalog import Catalog

MAX_WAITING = 256  # unanswered requests of one client


@dataclass
class Tables:
    """The addresses under ``/api/tables``. Requests without sort and filter have workers of their own: ``quick``."""

    catalog: Catalog
    workers: Workers
    quick: Workers
    downloads: Downloads
    settings: Server
    waiting: Counter[str] = field(default_factory=Counter)
    """Unanswered requests, by client."""

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/api/tables", self.listed),
            Route("/api/tables/{name}/rows", self.rows),
            Route("/api/tables/{name}.csv", partial(self._export, CSV)),
            Route("/api/tables/{name}.arrow", partial(self._export, ARROW)),
            Route("/api/tables/{name}", self.one),
        ]

    async def listed(self, request: Request) -> Response:
        parameters(request)
        return json_response({"tables": await self.quick.run(lambda _check: reading.overview(self.catalog))})

    async def one(self, request: Request) -> Response:
        parameters(request)
        name = request.path_params["name"]
        return json_response(await self.quick.run(lambda _check: reading.table_info(self.catalog, name)))

    async def rows(self, request: Request) -> Response:
        pairs = parameters(request, PAGE)
        name, client = request.path_params["name"], client_of(request)
        workers = self.quick if reading.is_quick(pairs) else self.workers

        async def page() -> Response:
            body = await workers.run(
                lambda check: reading.read_page(self.catalog, name, pairs, self.settings.max_page, check),
                client,
                self.settings.query_timeout_s,
            )
            return Response(body, media_type="application/json")

        return await self._answer(request, page())

    async def _export(self, file_format: FileFormat, request: Request) -> Response:
        pairs = parameters(request, file_format.parameters)
        extract = partial(Extract.of, self.catalog, request.path_params["name"], pairs)
        start = self.downloads.start(extract, file_format, client_of(request), self.settings.query_timeout_s)
        return await self._answer(request, start)

    async def _answer(self, request: Request, work: Coroutine[Any, Any, Response]) -> Response:
        """Returns the result of ``work``; cancels it if the client disconnects, and refuses it if no worker is free."""
        client = client_of(request)
        if self.waiting[client] >= MAX_WAITING:
            work.close()
            raise _busy(f"{MAX_WAITING} requests from this address are waiting. Try again later.")
        self.waiting[client] += 1
        try:
            answer = await while_connected(request.receive, work)
            return answer or Response(status_code=499)  # nobody reads it
        except TimeoutError:
            raise _busy(f"No worker was free within {self.settings.query_timeout_s:g} s. Try again later.") from None
        finally:
            self.waiting -= Counter((client,))


def _busy(message: str) -> Refusal:
    return Refusal(503, "SERVER_BUSY", message, RETRY_AFTER)
