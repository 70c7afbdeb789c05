"""The web page at ``/`` and its files: read and compressed once, and public because they hold no data."""

from __future__ import annotations

import gzip
import mimetypes
import re
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evertable import web

NONCE = "EVERTABLE_NONCE"
"""Placeholder in the page for the nonce of its content security policy."""

NOT_BUILT = "The web page is not built. Run scripts/setup, then start the server again.\n"

_HASHED = re.compile(r"-[0-9A-Z]{8}\.\w+$")  # the name changes with the content
_IMMUTABLE = "public, max-age=31536000, immutable"
_COMPRESSED = {".js", ".css", ".svg", ".txt", ".json", ".webmanifest"}
_MIN_COMPRESSED = 1024  # bytes

_Endpoint = Callable[[Request], Awaitable[Response]]


def page_routes() -> list[Route]:
    """Returns the routes of the page; if it is not built, ``/`` explains how to build it.

    They need no token, because people enter theirs on the page.
    """
    folder = web.FILES
    index = folder / web.INDEX
    if not web.is_built():
        return [Route("/", _not_built)]
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path != index)
    return [
        Route("/", _page(index)),
        *(Route(f"/{path.relative_to(folder).as_posix()}", _file(path)) for path in files),
    ]


async def _not_built(_request: Request) -> Response:
    return Response(NOT_BUILT, 503, media_type="text/plain")


def _page(index: Path) -> _Endpoint:
    text = index.read_text(encoding="utf-8")

    async def page(_request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        policy = (  # only its own files and server, and inline code only with the nonce
            f"default-src 'self'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; "
            "img-src 'self' data:; font-src 'self' data:; "  # the grid's icons
            "object-src 'none'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
        return Response(text.replace(NONCE, nonce), headers=headers, media_type="text/html")

    return page


def _file(path: Path) -> _Endpoint:
    content = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {"Cache-Control": _IMMUTABLE if _HASHED.search(path.name) else "no-cache"}
    compressed = (
        gzip.compress(content, 9, mtime=0) if path.suffix in _COMPRESSED and len(content) >= _MIN_COMPRESSED else None
    )

    async def file(request: Request) -> Response:
        if compressed is None:
            return Response(content, headers=headers, media_type=kind)
        varied = {**headers, "Vary": "Accept-Encoding"}
        if not _accepts_gzip(request):
            return Response(content, headers=varied, media_type=kind)
        return Response(compressed, headers={**varied, "Content-Encoding": "gzip"}, media_type=kind)

    return file


def _accepts_gzip(request: Request) -> bool:
    offers = (offer.replace(" ", "") for offer in request.headers.get("accept-encoding", "").lower().split(","))
    return any(offer.partition(";")[0] in ("gzip", "*") and not offer.endswith(";q=0") for offer in offers)
