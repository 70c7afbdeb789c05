"""A view as an address says it: ``?columns=name,balance&sort=-balance&filter=balance > 100&offset=0&limit=100``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from evertable.errors import PageTooLargeError
from evertable.problems import nearest
from evertable.protocol.frames import MAX_INTEGER
from evertable.schema.columns import Column
from evertable.server.refusals import Refused
from evertable.views.view import View

SHAPE = ("columns", "sort", "filter", "newestFirst")  # of pages and exports
CSV = (*SHAPE, "formulas")
PAGE = (*SHAPE, "offset", "limit")

Pairs = Sequence[tuple[str, str]]


def check_names(pairs: Pairs, known: Collection[str]) -> None:
    """Refuses parameters that are not known, or are given twice without being lists."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name not in known:
            advice = f"; {nearest(name, known)}" if known else "; this address takes none"
            raise _wrong(f"There is no parameter '{name}'{advice}")
        if name in seen and name not in ("columns", "sort"):
            raise _wrong(f"The parameter '{name}' is given twice.")
        seen.add(name)


def view_of(pairs: Pairs, columns: Sequence[Column], max_page: int = MAX_INTEGER) -> View:
    """The view that the parameters mean for a table with these columns; what is empty counts as not given."""
    given = {name: value for name, value in pairs if value}
    names = {column.name for column in columns}
    shown = tuple(_split([value for name, value in pairs if name == "columns" and value], names))
    sort = tuple(_split([value for name, value in pairs if name == "sort" and value], names, "-"))
    offset, limit = _count(given, "offset", 0), _count(given, "limit", min(View.limit, max_page))
    if limit > max_page:
        raise PageTooLargeError(f"A page has at most {max_page} rows, not {limit}.", "Ask for several, or for .csv.")
    return View(shown or None, sort, given.get("filter", ""), offset, limit, _truth(given, "newestFirst"))


def keeps_formulas(pairs: Pairs) -> bool:
    """Whether an export leaves texts as they are that a spreadsheet would run as formulas."""
    wanted = next((value for name, value in pairs if name == "formulas" and value), "escaped")
    if wanted not in ("escaped", "raw"):
        raise _wrong("The parameter 'formulas' is neither escaped nor raw.")
    return wanted == "raw"


def _split(values: Iterable[str], names: Collection[str], mark: str = "") -> Iterable[str]:
    """Names with commas between them; a value that names a column as it stands is that column, commas included."""
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
        raise _wrong(f"The parameter '{name}' is neither true nor false.")
    return text == "true"


def _wrong(message: str) -> Refused:
    return Refused(400, "PARAMETER_INVALID", message)
