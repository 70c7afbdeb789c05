"""``/openapi.json``: the description of the HTTP addresses, kept by hand in ``openapi.yaml``."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evertable import __version__
from evertable.config.server import Server
from evertable.server.refusals import json_response
from evertable.views.view import View


def description(max_page: int = Server.model_fields["max_page"].default) -> dict[str, Any]:
    """The whole description, with this version of Evertable and the largest page of a server."""
    read: dict[str, Any] = yaml.safe_load((files("evertable.server") / "openapi.yaml").read_text(encoding="utf-8"))
    read["info"]["version"] = __version__
    [limit] = (
        one for one in read["paths"]["/api/tables/{name}/rows"]["get"]["parameters"] if one.get("name") == "limit"
    )
    limit["schema"] |= {"maximum": max_page, "default": min(View.limit, max_page)}
    return read


def openapi_routes(max_page: int) -> list[Route]:
    response = json_response(description(max_page))

    async def openapi(_request: Request) -> Response:
        return response

    return [Route("/openapi.json", openapi)]
