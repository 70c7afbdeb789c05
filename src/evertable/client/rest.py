"""Requests to the server's REST API; its refusals become errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from evertable.client.address import Address
from evertable.client.errors import (
    NOT_EVERTABLE,
    ClientClosedError,
    ServerAnswerError,
    ServerUnreachableError,
    http_error,
    json_or_none,
)
from evertable.client.retry import unreachable_error
from evertable.views.view import View

Parameters = Sequence[tuple[str, str]]


class RestClient:
    """Sends requests to one server over connections that stay open until ``close``."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._address = address.url
        self._http = httpx.Client(
            headers=address.headers,
            verify=address.tls or False,  # plain http has nothing to verify, and redirects are not followed
            timeout=timeout_s,
        )

    def close(self) -> None:
        self._http.close()

    def check_open(self) -> None:
        if self._http.is_closed:
            raise ClientClosedError("The client is closed.", "Create a new one.")

    def get(self, path: str, parameters: Parameters = ()) -> dict[str, Any]:
        """Returns the JSON object in the answer."""
        return self._json("GET", path, params=list(parameters))

    def post(self, path: str, body: object) -> dict[str, Any]:
        return self._json("POST", path, json=body)

    @contextmanager
    def stream(self, path: str, parameters: Parameters = ()) -> Iterator[Iterator[bytes]]:
        """Gives the body in chunks as they arrive; a truncated body raises ServerUnreachableError."""
        url = self._address + path
        with self._translated_errors(), self._http.stream("GET", url, params=list(parameters)) as response:
            if response.is_error:
                response.read()
                raise http_error(response.status_code, response.content, self._address)
            yield response.iter_bytes()

    def _json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        with self._translated_errors():
            response = self._http.request(method, self._address + path, **options)
        if response.is_error:
            raise http_error(response.status_code, response.content, self._address)
        body = json_or_none(response.content)
        if not isinstance(body, dict):
            what = f"{self._address}{path} answered {response.status_code} without a JSON object."
            raise ServerAnswerError(what, NOT_EVERTABLE)
        return body

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raises the errors of httpx as errors of the client."""
        self.check_open()
        try:
            yield
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            what = f"The answer of {self._address} ended early: {error}."
            raise ServerUnreachableError(what, "Try again; its log may say more.") from None
        except httpx.TransportError as error:
            raise unreachable_error(self._address, _cause(error)) from None


def table_path(name: str, suffix: str = "") -> str:
    return f"/api/tables/{quote(name, safe='')}{suffix}"


def view_parameters(view: View) -> list[tuple[str, str]]:
    """Returns the query parameters for a view's columns, sort and filter."""
    return [
        *(("columns", name) for name in view.columns or ()),
        *(("sort", name) for name in view.sort),
        ("filter", view.filter),
        ("newestFirst", str(view.newest_first).lower()),
    ]


def _cause(error: Exception) -> Exception:
    """Returns the operating system's error behind an error of httpx, because it says more."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return error
