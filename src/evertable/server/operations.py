"""Addresses for operators: status, topics, control, rollback, metrics, health and the OpenAPI document."""

from __future__ import annotations

import resource
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evertable import __version__
from evertable.config.server import Server
from evertable.live.workers import Workers
from evertable.protocol.values import rows_of
from evertable.server import reading
from evertable.server.metrics import Metrics
from evertable.server.refusals import RETRY_AFTER, json_response
from evertable.server.requests import json_object, parameters
from evertable.server.security import Refusal
from evertable.tables.catalog import Catalog
from evertable.views.view import View

Control = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Handles a control message and returns its result; raises EvertableError if it is refused."""
Rollback = Callable[[], Awaitable[Mapping[str, Any]]]
Topics = Callable[[], Awaitable[Mapping[str, Sequence[str]]]]
"""Returns the topics that each key of a control message can name."""

STATUS = "orchestrator_status"


async def disabled(*_given: object) -> Any:
    """Stands for an orchestrator where there is none."""
    raise Refusal(503, "CONTROL_DISABLED", "This server has no orchestrator, so it accepts no control requests.")


@dataclass(frozen=True)
class Operations:
    """The addresses for operators; ``more`` returns what the orchestrator adds to the status."""

    catalog: Catalog
    workers: Workers
    metrics: Metrics
    settings: Server
    control: Control
    rollback: Rollback
    more: Callable[[], Mapping[str, Any]]
    topics: Topics

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/api/status", self.show_status),
            Route("/api/topics", self.list_topics),
            Route("/api/control", self.send, methods=["POST"]),
            Route("/api/rollback", self.roll_back, methods=["POST"]),
            Route("/metrics", self.export_metrics),
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/openapi.json", self.openapi),
        ]

    async def show_status(self, request: Request) -> Response:
        parameters(request)
        status = await self.workers.run(lambda _check: status_of(self.catalog, self.settings.max_memory_mb))
        return json_response({**status, **self.more()})

    async def list_topics(self, request: Request) -> Response:
        parameters(request)
        return json_response({"topics": await self.topics()})

    async def send(self, request: Request) -> Response:
        return json_response(await self.control(await json_object(request)), 202)

    async def roll_back(self, request: Request) -> Response:
        if await json_object(request, empty_ok=True):
            raise Refusal(400, "BODY_INVALID", "A rollback takes no values; send {} or nothing.")
        return json_response(await self.rollback(), 202)

    async def export_metrics(self, _request: Request) -> Response:
        text = await self.workers.run(lambda _check: self.metrics.text())
        return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def healthz(self, _request: Request) -> Response:
        return json_response({"status": "ok"})

    async def readyz(self, _request: Request) -> Response:
        if self.catalog.ready:
            return json_response({"status": "ready"})
        missing = ", ".join(name for name in self.catalog.names if name not in self.catalog.current.tables)
        raise Refusal(503, "NOT_READY", f"No generation is live yet. These tables are missing: {missing}.", RETRY_AFTER)

    async def openapi(self, _request: Request) -> Response:
        return self._document

    @cached_property
    def _document(self) -> Response:
        return json_response(openapi_document(self.settings.max_page))


def openapi_document(max_page: int = Server.model_fields["max_page"].default) -> dict[str, Any]:
    """Returns ``openapi.yaml`` with this version of Evertable and the largest page of a server."""
    document: dict[str, Any] = yaml.safe_load((files("evertable.server") / "openapi.yaml").read_text(encoding="utf-8"))
    document["info"]["version"] = __version__
    parameters = document["paths"]["/api/tables/{name}/rows"]["get"]["parameters"]
    [limit] = (one for one in parameters if one.get("name") == "limit")
    limit["schema"] |= {"maximum": max_page, "default": min(View.limit, max_page)}
    return document


def status_of(catalog: Catalog, max_memory_mb: int | None = None) -> dict[str, Any]:
    """Returns the state of the server for operators."""
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
    """Returns the memory of this process; its peak where the system does not report the current size."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
