"""For operators: ``/api/status``, ``/api/topics``, ``/api/control``, ``/api/rollback``, ``/metrics``."""

from __future__ import annotations

import asyncio
import resource
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evertable.live.workers import Workers
from evertable.protocol.values import rows_of
from evertable.server import reading
from evertable.server.metrics import Metrics
from evertable.server.parameters import check_names
from evertable.server.refusals import Refused, json_response
from evertable.tables.catalog import Catalog

Control = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Takes a control message and tells what became of it; an ``EvertableError`` says why it is refused."""
Rollback = Callable[[], Awaitable[Mapping[str, Any]]]
Topics = Callable[[], Awaitable[Mapping[str, Sequence[str]]]]
"""The topics there are, by the key of a control message that takes them."""

MAX_BODY = 64 * 1024
BODY_TIMEOUT_S = 10
STATUS = "orchestrator_status"


class Operations:
    """The operators' addresses. Without an orchestrator nothing can be controlled: 503 ``CONTROL_DISABLED``."""

    def __init__(
        self,
        catalog: Catalog,
        workers: Workers,
        metrics: Metrics,
        max_memory_mb: int | None = None,
        control: Control | None = None,
        rollback: Rollback | None = None,
        more: Callable[[], Mapping[str, Any]] | None = None,
        topics: Topics | None = None,
    ) -> None:
        self._catalog = catalog
        self._workers = workers
        self._metrics = metrics
        self._max_memory_mb = max_memory_mb
        self._control = control
        self._rollback = rollback
        self._more = more or dict
        self._topics = topics

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/api/status", self.status),
            Route("/api/topics", self.topics),
            Route("/api/control", self.control, methods=["POST"]),
            Route("/api/rollback", self.rollback, methods=["POST"]),
            Route("/metrics", self.scraped),
        ]

    async def status(self, request: Request) -> Response:
        check_names(request.query_params.multi_items(), ())
        said = await self._workers.run(lambda _check: status_of(self._catalog, self._max_memory_mb))
        return json_response({**said, **self._more()})

    async def topics(self, request: Request) -> Response:
        check_names(request.query_params.multi_items(), ())
        if self._topics is None:
            raise _disabled()
        return json_response({"topics": await self._topics()})

    async def control(self, request: Request) -> Response:
        message = await _object(request)
        if self._control is None:
            raise _disabled()
        return json_response(await self._control(message), 202)

    async def rollback(self, request: Request) -> Response:
        if await _object(request, empty_ok=True):
            raise Refused(400, "BODY_INVALID", "A rollback takes no values; send {} or nothing.")
        if self._rollback is None:
            raise _disabled()
        return json_response(await self._rollback(), 202)

    async def scraped(self, _request: Request) -> Response:
        text = await self._workers.run(lambda _check: self._metrics.text())
        return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


def status_of(catalog: Catalog, max_memory_mb: int | None = None) -> dict[str, Any]:
    """All that an operator wants to see at once."""
    current = catalog.current
    held = {name: table.nbytes for name, table in current.tables.items()}
    return {
        "ready": catalog.ready,
        "generation": current.generation,
        "publication": current.number,
        "orchestrator": _status_row(catalog),
        "tables": reading.overview(catalog),
        "memory": {"process_bytes": resident_bytes(), "tables_bytes": sum(held.values()), "max_mb": max_memory_mb},
    }


def _status_row(catalog: Catalog) -> dict[str, Any] | None:
    table = catalog.current.tables.get(STATUS)
    if table is None:
        return None
    with table.lock:
        slots = table.extent.window(0, 1, newest_first=True)
        rows = rows_of(table.take(slots, range(len(table.columns))), table.columns)
    return dict(zip([column.name for column in table.columns], rows[0], strict=True)) if rows else None


def resident_bytes() -> int:
    """The memory that this process holds; where the system does not tell, the most it ever held."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def _object(request: Request, empty_ok: bool = False) -> dict[str, Any]:
    """The JSON object that came as the body."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    raise Refused(413, "BODY_TOO_LARGE", f"A body has at most {MAX_BODY} bytes.", _CLOSE)
    except TimeoutError:
        raise Refused(408, "BODY_TOO_SLOW", f"The body took longer than {BODY_TIMEOUT_S} s.", _CLOSE) from None
    if not body and empty_ok:
        return {}
    if body.startswith(BOM_UTF8):
        message = "The body begins with a byte order mark (BOM, EF BB BF). Send UTF-8 without one."
        raise Refused(400, "BODY_INVALID", message)
    try:
        read = orjson.loads(bytes(body))
    except orjson.JSONDecodeError as error:
        raise Refused(400, "BODY_INVALID", f"The body is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise Refused(400, "BODY_INVALID", 'The body is not a JSON object, such as {"joinType": "inner"}.')
    return read


_CLOSE = (("Connection", "close"),)  # what is still under way is not waited for


def _disabled() -> Refused:
    message = "Nothing can be controlled here: this server runs without an orchestrator."
    return Refused(503, "CONTROL_DISABLED", message)
