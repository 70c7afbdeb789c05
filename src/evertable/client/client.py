"""The client for programs: pages, watches and whole tables by name, and swaps."""

# ruff: noqa: A002 - filter and format are the names that the protocol uses

from __future__ import annotations

import importlib.util
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evertable.client.address import DEFAULT_URL, Address
from evertable.client.connection import Connection, websocket
from evertable.client.errors import PandasMissingError, decoding
from evertable.client.receiver import PageReceiver, page_from_json
from evertable.client.rest import RestClient, table_path, view_parameters
from evertable.client.swaps import CONTROL_TABLE, SentMessage, SwapResult, await_result
from evertable.client.watch import Watch
from evertable.protocol.page import Page
from evertable.views.view import View

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa

Names = Sequence[str]

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class TableInfo:
    """A table's state on the server; ``version`` and ``total`` are None until its first generation is live."""

    name: str
    ready: bool
    generation: int
    publication: int
    version: int | None
    total: int | None


class Client:
    """A connection to one server::

        with Client("http://127.0.0.1:10000", token="…") as client:
            for page in client.table("final_ui").watch(sort=["-balance"], limit=10):
                print(page.total, page.rows)

    ``ca`` is a PEM file for servers whose certificate this machine does not trust. A client is thread-safe.
    ``close`` also closes its watches.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        token: str | None = None,
        *,
        ca: str | PathLike[str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._address = Address(url, token, None if ca is None else Path(ca))
        self._timeout_s = timeout_s
        self._rest = RestClient(self._address, timeout_s)
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"Client({self._address.url!r})"

    def tables(self) -> list[TableInfo]:
        """Lists all tables, including those without a live generation."""
        body = self._rest.get("/api/tables")
        with decoding():
            return [_info(entry) for entry in body["tables"]]

    def table(self, name: str) -> TableHandle:
        """Returns a handle for a table; sends no request."""
        return TableHandle(self, name)

    def swap(self, *, force: bool = False, **message: str) -> dict[str, Any]:
        """Sends a control message: ``swap(usersTopic="users_v2", joinType="inner")``. Keys left out stay unchanged.

        ``force`` makes the swap live even if no usable record was read from a topic.
        """
        return self._rest.post("/api/control", {**message, "force": True} if force else message)

    def rollback(self) -> dict[str, Any]:
        """Requests the wiring before the current one."""
        return self._rest.post("/api/rollback", {})

    def outcome(
        self, answer: Mapping[str, Any], timeout_s: float | None = None, on_wait: Callable[[], None] = lambda: None
    ) -> SwapResult:
        """Waits for the final result of a swap or a rollback, given its ``answer``; ``pending`` after the timeout.

        Later swaps and restarts of the server do not disturb it. ``on_wait`` is called a few times a second meanwhile.
        """
        sent = SentMessage.from_answer(answer)
        if sent.result.is_final:
            return sent.result
        messages = self.table(CONTROL_TABLE)
        return await_result(lambda: messages.watch(filter=sent.filter, limit=1), timeout_s, on_wait) or sent.result

    def status(self) -> dict[str, Any]:
        return self._rest.get("/api/status")

    def close(self) -> None:
        """Closes all watches and connections; can be called more than once."""
        for watch in list(self._watches):
            watch.close()
        self._rest.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class TableHandle:
    """A table by its public name, whichever generation is live."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client

    def __repr__(self) -> str:
        return f"{self._client!r}.table({self.name!r})"

    def info(self) -> TableInfo:
        body = self._client._rest.get(table_path(self.name))
        with decoding():
            return _info(body)

    def page(
        self,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        offset: int = 0,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page:
        """Returns the current rows of a view."""
        view = _view(columns, sort, filter, offset, limit, newest_first)
        window = [("offset", str(offset)), ("limit", str(limit))]
        body = self._client._rest.get(table_path(self.name, "/rows"), [*view_parameters(view), *window])
        with decoding():
            return page_from_json(body)

    def watch(
        self,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        offset: int = 0,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Watch:
        """Returns the pages of a view: the current one, then one after every change. See :class:`Watch`."""
        self._client._rest.check_open()
        receiver = PageReceiver(self.name, _view(columns, sort, filter, offset, limit, newest_first))
        address = self._client._address
        watch = Watch(Connection(websocket(address, self._client._timeout_s), receiver, address.url))
        self._client._watches.add(watch)
        return watch

    def to_arrow(
        self,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        newest_first: bool = False,
    ) -> pa.Table:
        """Returns a snapshot of all rows that match the filter."""
        with self.stream("arrow", columns, sort, filter, newest_first) as chunks:
            from evertable.client.export import open_batches  # here, because pyarrow is slow to import

            with open_batches(chunks) as batches:
                return batches.read_all()

    def to_pandas(
        self,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        newest_first: bool = False,
    ) -> pd.DataFrame:
        """Returns the same as :meth:`to_arrow` for pandas; decimals are Decimals."""
        if importlib.util.find_spec("pandas") is None:
            raise PandasMissingError
        return self.to_arrow(columns, sort, filter, newest_first).to_pandas()

    @contextmanager
    def stream(
        self,
        format: str,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        newest_first: bool = False,
        raw_formulas: bool = False,
    ) -> Iterator[Iterator[bytes]]:
        """Gives the whole table as ``csv`` or ``arrow``, in chunks as they arrive.

        In CSV, texts that a spreadsheet would run as formulas get a leading apostrophe, unless ``raw_formulas``.
        """
        view = _view(columns, sort, filter, newest_first=newest_first)
        parameters = [*view_parameters(view), *([("formulas", "raw")] if raw_formulas else [])]
        with self._client._rest.stream(table_path(self.name, f".{format}"), parameters) as chunks:
            yield chunks


def _view(
    columns: Names | None,
    sort: Names,
    filter: str,
    offset: int = 0,
    limit: int = 100,
    newest_first: bool = False,
) -> View:
    for name, given in (("columns", columns), ("sort", sort)):
        if isinstance(given, str):
            raise TypeError(f"{name} must be a list of names, not a string")
    return View(None if columns is None else tuple(columns), tuple(sort), filter, offset, limit, newest_first)


def _info(entry: Any) -> TableInfo:
    return TableInfo(*(entry[name] for name in TableInfo.__dataclass_fields__))
