"""The web page at ``/`` and its files: read once, compressed once, and open to all, for they hold no data."""

from __future__ import annotations

import gzip
import mimetypes
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evertable.web import FILES, INDEX, is_built

NONCE = "EVERTABLE_NONCE"
"""Stands in the page wherever the browser wants to see the nonce of its policy."""

NOT_BUILT = "The web page is not built. Run scripts/setup, then start the server again.\n"

_HASHED = re.compile(r"-[0-9A-Z]{8}\.\w+$")  # other content has another name
_FOR_EVER = "public, max-age=31536000, immutable"
_PACKED = {".js", ".css", ".svg", ".txt", ".json", ".webmanifest"}
_LEAST = 1024  # bytes; fewer are not worth packing

_Endpoint = Callable[[Request], Awaitable[Response]]


def page_routes(folder: Path = FILES) -> list[BaseRoute]:
    """Those of the page that was built into ``folder``; without one, ``/`` says how to get it."""
    if not is_built(folder):
        return [Route("/", _not_built)]
    index = folder / INDEX
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path != index)
    return [
        Route("/", _page(index)),
        *(Route(f"/{path.relative_to(folder).as_posix()}", _file(path)) for path in files),
    ]


def paths_of(routes: Sequence[BaseRoute]) -> list[str]:
    """What needs no token: before there is a page, nobody can type one in."""
    return [route.path for route in routes if isinstance(route, Route)]


def policy(nonce: str) -> str:
    """What the page may do: its own files, its own server, nothing from elsewhere and nothing inline but by nonce."""
    return (
        f"default-src 'self'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; "
        "img-src 'self' data:; font-src 'self' data:; "  # the grid's icons
        "object-src 'none'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
    )


async def _not_built(_request: Request) -> Response:
    return Response(NOT_BUILT, 503, media_type="text/plain")


def _page(index: Path) -> _Endpoint:
    text = index.read_text(encoding="utf-8")

    async def page(_request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        headers = {"Content-Security-Policy": policy(nonce), "Cache-Control": "no-store"}
        return Response(text.replace(NONCE, nonce), headers=headers, media_type="text/html")

    return page


def _file(path: Path) -> _Endpoint:
    content = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {"Cache-Control": _FOR_EVER if _HASHED.search(path.name) else "no-cache"}
    packed = gzip.compress(content, 9, mtime=0) if path.suffix in _PACKED and len(content) >= _LEAST else None

    async def file(request: Request) -> Response:
        if packed is None:
            return Response(content, headers=headers, media_type=kind)
        varied = {**headers, "Vary": "Accept-Encoding"}
        if not _takes_gzip(request):
            return Response(content, headers=varied, media_type=kind)
        return Response(packed, headers={**varied, "Content-Encoding": "gzip"}, media_type=kind)

    return file


def _takes_gzip(request: Request) -> bool:
    offers = (offer.replace(" ", "") for offer in request.headers.get("accept-encoding", "").lower().split(","))
    return any(offer.partition(";")[0] in ("gzip", "*") and not offer.endswith(";q=0") for offer in offers)
