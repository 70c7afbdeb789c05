"""The client that programs use: tables by name, pages, watches, whole tables, and the operator's requests."""

# ruff: noqa: A002 - filter and format are called so everywhere else

from __future__ import annotations

import importlib.util
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from evertable.client.address import DEFAULT_URL, Address, given_token
from evertable.client.connection import Connection, websocket
from evertable.client.errors import PandasMissingError, ServerAnswerError
from evertable.client.following import UNREADABLE, Following, page_from_json
from evertable.client.rest import Rest, shape, table_path
from evertable.client.swaps import MESSAGES, Receipt, Verdict, final_verdict
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
    """What the server knows of a table; a name has no version and no total before its first generation is live."""

    name: str
    ready: bool
    generation: int
    publication: int
    version: int | None
    total: int | None


class Client:
    """One server, seen from Python::

        with Client("http://127.0.0.1:10000", token="…") as client:
            for page in client.table("final_ui").watch(sort=["-balance"], limit=10):
                print(page.total, page.rows)

    ``ca`` is a PEM file for servers whose certificate this machine does not trust. Any thread may use a client.
    ``close`` ends its watches, too.
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
        self._rest = Rest(self._address, timeout_s)
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()

    @classmethod
    def given(cls, url: str | None, token_file: Path | None = None, ca: Path | None = None) -> Self:
        """As commands are given it: the token in a file, or else in ``EVERTABLE_TOKEN``."""
        return cls(url or DEFAULT_URL, given_token(token_file), ca=ca)

    def __repr__(self) -> str:
        return f"Client({self._address.url!r})"

    def tables(self) -> list[TableInfo]:
        """All tables, those without a live generation included."""
        return [_info(entry) for entry in _field(self._rest.get("/api/tables"), "tables")]

    def table(self, name: str) -> TableHandle:
        """A table by its public name; nothing is asked yet."""
        return TableHandle(self, name)

    def swap(self, *, force: bool = False, **message: str) -> dict[str, Any]:
        """Sends a control message: ``swap(usersTopic="users_v2", joinType="inner")``. Keys left out stay unchanged.

        With ``force`` it goes live even if nothing useful was read from a topic.
        """
        return _object(self._rest.post("/api/control", {**message, "force": True} if force else message))

    def rollback(self) -> dict[str, Any]:
        """Asks for the wiring before the current one."""
        return _object(self._rest.post("/api/rollback", {}))

    def outcome(
        self, answer: Mapping[str, Any], timeout_s: float | None = None, on_wait: Callable[[], None] = lambda: None
    ) -> Verdict:
        """What became of a swap or a rollback, by its ``answer``, once that is decided; ``pending`` after the timeout.

        Over swaps and restarts of the server. ``on_wait`` is called a few times a second meanwhile.
        """
        receipt = Receipt.of(answer)
        if receipt.verdict.is_final:
            return receipt.verdict
        found = final_verdict(lambda: self.table(MESSAGES).watch(filter=receipt.filter, limit=1), timeout_s, on_wait)
        return found or receipt.verdict

    def status(self) -> dict[str, Any]:
        return _object(self._rest.get("/api/status"))

    def close(self) -> None:
        """Ends all watches and connections; may be called again."""
        for watch in list(self._watches):
            watch.close()
        self._rest.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TableHandle:
    """A table under its public name, whichever generation is live behind it."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client

    def __repr__(self) -> str:
        return f"{self._client!r}.table({self.name!r})"

    def info(self) -> TableInfo:
        return _info(self._client._rest.get(table_path(self.name)))

    def page(
        self,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        offset: int = 0,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page:
        """The rows of a view as they are now."""
        view = _view(columns, sort, filter, offset, limit, newest_first)
        window = [("offset", str(offset)), ("limit", str(limit))]
        body = self._client._rest.get(table_path(self.name, "/rows"), [*shape(view), *window])
        try:
            return page_from_json(body)
        except UNREADABLE as error:
            raise ServerAnswerError(f"The server's page cannot be read: {error!r}.", "Is it a newer version?") from None

    def watch(
        self,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        offset: int = 0,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Watch:
        """The newest page of a view, again after every change, for ever. See :class:`Watch`."""
        self._client._rest.check_open()
        following = Following(self.name, _view(columns, sort, filter, offset, limit, newest_first))
        address, timeout_s = self._client._address, self._client._timeout_s
        watch = Watch(
            lambda on_page, on_state: Connection(
                websocket(address, timeout_s), following, address.url, on_page, on_state
            )
        )
        self._client._watches.add(watch)
        return watch

    def to_arrow(
        self,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        newest_first: bool = False,
    ) -> pa.Table:
        """All rows that the filter lets through, of one moment."""
        with self.stream("arrow", columns, sort, filter, newest_first) as pieces:
            from evertable.client.arrow import table_of  # here, for pyarrow takes a while to import

            return table_of(pieces)

    def to_pandas(
        self,
        columns: Names | None = None,
        sort: Names = (),
        filter: str = "",
        newest_first: bool = False,
    ) -> pd.DataFrame:
        """As :meth:`to_arrow`, for pandas; decimals are Decimals."""
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
        """The bytes of the whole table as ``csv`` or ``arrow``, as they come.

        In CSV, texts that a spreadsheet would run as formulas get an apostrophe in front, unless ``raw_formulas``.
        """
        view = _view(columns, sort, filter, newest_first=newest_first)
        parameters = [*shape(view), *([("formulas", "raw")] if raw_formulas else [])]
        with self._client._rest.stream(table_path(self.name, f".{format}"), parameters) as pieces:
            yield pieces


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
            raise TypeError(f"{name} is a list of names, not one text")
    return View(None if columns is None else tuple(columns), tuple(sort), filter, offset, limit, newest_first)


def _info(entry: Any) -> TableInfo:
    try:
        return TableInfo(*(entry[name] for name in TableInfo.__dataclass_fields__))
    except (LookupError, TypeError):
        raise _unreadable() from None


def _field(body: Any, name: str) -> Any:
    try:
        return body[name]
    except (LookupError, TypeError):
        raise _unreadable() from None


def _object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise _unreadable()
    return body


def _unreadable() -> ServerAnswerError:
    return ServerAnswerError("The server's answer has not the form that it should have.", "Is it a newer version?")
