"""Reads requests: their parameters, their JSON bodies, and whether their client is still connected."""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8
from collections.abc import Collection, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import orjson
from starlette.requests import Request
from starlette.types import Receive

from evertable.errors import PageTooLargeError
from evertable.problems import nearest
from evertable.schema.columns import Column
from evertable.server.security import Refusal
from evertable.views.view import MAX_INTEGER, View

SHAPE = ("columns", "sort", "filter", "newestFirst")  # parameters of pages and exports
PAGE = (*SHAPE, "offset", "limit")

Pairs = Sequence[tuple[str, str]]

MAX_BODY = 64 * 1024
BODY_TIMEOUT_S = 10

T = TypeVar("T")


def client_of(request: Request) -> str:
    """Returns the address whose share of the workers a request takes."""
    return request.client.host if request.client else ""


async def disconnected(receive: Receive) -> None:
    """Returns when the client closes its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """Returns what ``work`` returns; cancels it and returns None as soon as the client disconnects."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(disconnected(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def json_object(request: Request, empty_ok: bool = False) -> dict[str, Any]:
    """Returns the JSON object in the request's body."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    raise Refusal(413, "BODY_TOO_LARGE", f"A body has at most {MAX_BODY} bytes.", _CLOSE)
    except TimeoutError:
        raise Refusal(408, "BODY_TOO_SLOW", f"The body took longer than {BODY_TIMEOUT_S} s.", _CLOSE) from None
    if not body and empty_ok:
        return {}
    if body.startswith(BOM_UTF8):
        message = "The body begins with a byte order mark (BOM, EF BB BF). Send UTF-8 without one."
        raise Refusal(400, "BODY_INVALID", message)
    try:
        read = orjson.loads(bytes(body))
    except orjson.JSONDecodeError as error:
        raise Refusal(400, "BODY_INVALID", f"The body is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise Refusal(400, "BODY_INVALID", 'The body is not a JSON object, such as {"joinType": "inner"}.')
    return read


_CLOSE = {"Connection": "close"}  # the rest of the body is not read


def parameters(request: Request, known: Collection[str] = ()) -> Pairs:
    """Returns a request's parameters; refuses unknown ones, and those given twice that are not lists."""
    seen: set[str] = set()
    pairs = request.query_params.multi_items()
    for name, _ in pairs:
        if name not in known:
            advice = f"; {nearest(name, known)}" if known else "; this address takes none"
            raise _wrong(f"There is no parameter '{name}'{advice}")
        if name in seen and name not in ("columns", "sort"):
            raise _wrong(f"The parameter '{name}' is given twice.")
        seen.add(name)
    return pairs


def view_of(pairs: Pairs, columns: Sequence[Column], max_page: int = MAX_INTEGER) -> View:
    """Returns the view that the parameters describe; an empty parameter counts as not given."""
    given = {name: value for name, value in pairs if value}
    names = {column.name for column in columns}
    shown = tuple(_split([value for name, value in pairs if name == "columns" and value], names))
    sort = tuple(_split([value for name, value in pairs if name == "sort" and value], names, "-"))
    offset, limit = _count(given, "offset", 0), _count(given, "limit", min(View.limit, max_page))
    if limit > max_page:
        raise PageTooLargeError(
            f"A page has at most {max_page} rows, not {limit}.", "Request several pages, or export the table as .csv."
        )
    return View(shown or None, sort, given.get("filter", ""), offset, limit, _truth(given, "newestFirst"))


def keeps_formulas(pairs: Pairs) -> bool:
    """Whether an export leaves texts unchanged that a spreadsheet would run as formulas."""
    wanted = next((value for name, value in pairs if name == "formulas" and value), "escaped")
    if wanted not in ("escaped", "raw"):
        raise _wrong("The parameter 'formulas' has to be escaped or raw.")
    return wanted == "raw"


def _split(values: Iterable[str], names: Collection[str], mark: str = "") -> Iterable[str]:
    """Yields names separated by commas; a value that is a column's name is that column, commas included."""
    for value in values:
        if value in names or (mark and value.removeprefix(mark) in names):
            yield value
        else:
            yield from value.split(",")


def _count(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit()) or len(text) > 16 or int(text) > MAX_INTEGER:
        raise _wrong(f"The parameter '{name}' is not an integer from 0 to 2^53-1.")
    return int(text)


def _truth(given: dict[str, str], name: str) -> bool:
    text = given.get(name, "false")
    if text not in ("true", "false"):
        raise _wrong(f"The parameter '{name}' has to be true or false.")
    return text == "true"


def _wrong(message: str) -> Refusal:
    return Refusal(400, "PARAMETER_INVALID", message)
