"""``/openapi.json``: the description of the HTTP addresses, kept by hand in ``openapi.yaml``."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evertable import __version__
from evertable.server.refusals import json_response


def description() -> dict[str, Any]:
    """The whole description, with this version of Evertable."""
    read: dict[str, Any] = yaml.safe_load((files("evertable.server") / "openapi.yaml").read_text(encoding="utf-8"))
    read["info"]["version"] = __version__
    return read


def openapi_routes() -> list[Route]:
    response = json_response(description())

    async def openapi(_request: Request) -> Response:
        return response

    return [Route("/openapi.json", openapi)]
