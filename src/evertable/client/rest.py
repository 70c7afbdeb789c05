"""Requests to the server's REST addresses, with its refusals as errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from evertable.client.address import Address
from evertable.client.errors import ClientClosedError, ServerAnswerError, refused_with
from evertable.client.retry import broken_off, unreachable
from evertable.views.view import View

Parameters = Sequence[tuple[str, str]]


class Rest:
    """Asks the server at one address, over connections that are kept until ``close``."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._address = address.url
        self._http = httpx.Client(
            headers=address.headers,
            verify=address.tls or False,  # nothing to verify in plain http, and redirects are not followed
            timeout=timeout_s,
        )

    def close(self) -> None:
        self._http.close()

    def check_open(self) -> None:
        if self._http.is_closed:
            raise ClientClosedError("The client is closed.", "Make a new one.")

    def get(self, path: str, parameters: Parameters = ()) -> Any:
        """What a JSON answer holds."""
        return self._json("GET", path, params=list(parameters))

    def post(self, path: str, body: object) -> Any:
        return self._json("POST", path, json=body)

    @contextmanager
    def stream(self, path: str, parameters: Parameters = ()) -> Iterator[Iterator[bytes]]:
        """The bytes of an answer as they come; an answer that ends too early is an error."""
        with self._told(), self._http.stream("GET", self._address + path, params=list(parameters)) as response:
            if response.is_error:
                response.read()
                raise refused_with(response.status_code, _body(response), self._address)
            yield response.iter_bytes()

    def _json(self, method: str, path: str, **options: Any) -> Any:
        with self._told():
            response = self._http.request(method, self._address + path, **options)
        if response.is_error:
            raise refused_with(response.status_code, _body(response), self._address)
        if (body := _body(response)) is None:
            what = f"{self._address}{path} answers {response.status_code}, and not with JSON."
            raise ServerAnswerError(what, "Is this the address of an Evertable server?")
        return body

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What httpx raises, told as an error of ours."""
        self.check_open()
        try:
            yield
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            raise broken_off(self._address, error) from None
        except httpx.TransportError as error:
            raise unreachable(self._address, _cause(error)) from None


def table_path(name: str, suffix: str = "") -> str:
    return f"/api/tables/{quote(name, safe='')}{suffix}"


def shape(view: View) -> list[tuple[str, str]]:
    """The parameters for a view's columns, sort and filter."""
    return [
        *(("columns", name) for name in view.columns or ()),
        *(("sort", name) for name in view.sort),
        ("filter", view.filter),
        ("newestFirst", str(view.newest_first).lower()),
    ]


def _body(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _cause(error: Exception) -> Exception:
    """What the system said, which tells more than httpx's own error and is kept behind it."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return error
