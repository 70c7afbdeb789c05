"""For what watches the process: ``/healthz`` says that it answers, ``/readyz`` that every name shows a table."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evertable.server.refusals import RETRY_AFTER, Refused, json_response
from evertable.tables.catalog import Catalog


def health_routes(catalog: Catalog) -> list[Route]:
    async def healthz(_request: Request) -> Response:
        return json_response({"status": "ok"})

    async def readyz(_request: Request) -> Response:
        if catalog.ready:
            return json_response({"status": "ready"})
        missing = ", ".join(name for name in catalog.names if name not in catalog.current.tables)
        raise Refused(503, "NOT_READY", f"No generation is live yet; without a table are {missing}.", RETRY_AFTER)

    return [Route("/healthz", healthz), Route("/readyz", readyz)]
