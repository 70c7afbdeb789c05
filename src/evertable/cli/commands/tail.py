"""``evertable tail``: a live table in the terminal, or its news in a pipe."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from evertable.client.state import ConnectionState
    from evertable.client.watch import Watch
    from evertable.protocol.page import Page

LOOK_S = 0.25  # how often the terminal's size and the connection are looked at
_AROUND = 6  # lines that are no rows: title, line, names, line, line, and where the cursor stands


def tail(
    name: str = typer.Argument(..., metavar="TABLE", help="The table's public name."),
    columns: str = typer.Option("", "--columns", help="Which columns, with commas between them; all if not said."),
    sort: str = typer.Option("", "--sort", help="By which columns, - before a name for descending: -balance,name"),
    filter_: str = typer.Option("", "--filter", help="Which rows: \"balance > 100 and name contains 'a'\""),
    limit: int = typer.Option(100, "--limit", min=1, help="Rows at most; a terminal shows those that it has room for."),
    newest_first: bool = typer.Option(True, "--newest-first/--oldest-first", help="In order of arrival."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object a line instead of a table or of TSV."),
    url: str | None = typer.Option(
        None, "--url", envvar="EVERTABLE_URL", show_default="http://127.0.0.1:10000", help="The server's address."
    ),
    token_file: Path | None = typer.Option(None, "--token-file", help="Holds the token; else EVERTABLE_TOKEN does."),
    ca: Path | None = typer.Option(None, "--ca", help="PEM file to check the server's certificate with."),
) -> None:
    """Show a live table until Ctrl-C, also over swaps and restarts.

    In a pipe: the rows of the first page, then those that are new or have changed, as TSV with a line of names or as
    JSON lines, the newest last. Rows that come and go between two pages are not shown. Control characters are escaped
    as in JSON; in TSV a backslash is doubled.

    Example:  evertable tail final_ui --sort -balance --filter "accountType = 'chq'"
    """
    from rich.console import Console

    from evertable.client.client import Client

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(highlight=False)
    with suppress(KeyboardInterrupt), Client.given(url, token_file, ca) as client:
        watch = client.table(name).watch(
            columns.split(",") if columns else None,
            sort.split(",") if sort else (),
            filter_,
            limit=limit,
            newest_first=newest_first,
        )
        if sys.stdout.isatty() and not console.is_dumb_terminal and not as_json:
            _show(watch, name, console)
        else:
            _print(watch, as_json=as_json, upside_down=newest_first and not sort)


def _show(watch: Watch, name: str, console: Console) -> None:
    """The newest page, drawn again when it, the connection or the terminal's size changes."""
    from rich.live import Live

    page: Page | None = None
    drawn: object = None
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            page = watch.poll(LOOK_S) or page
            now = (page, watch.state, console.size)
            if now != drawn:
                live.update(_drawing(name, page, watch.state, console.size.height), refresh=True)
                drawn = now


def _drawing(name: str, page: Page | None, state: ConnectionState, height: int) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from evertable.client.text import text, visible

    title = Text(visible(name), style="bold", no_wrap=True, overflow="ellipsis")
    if page is not None:
        title.append(f"  generation {page.generation}, publication {page.publication}, {page.total:,} rows", "default")
    title.append(f"  {state}", "green" if state == "live" else "yellow")
    if page is None:
        return title
    table = Table()
    for column in page.columns:
        table.add_column(
            Text(visible(column.name)), justify="right" if column.type.kind in _NUMBERS else "left", no_wrap=True
        )
    for row in page.rows[: max(height - _AROUND, 1)]:
        table.add_row(*(Text(visible(text(value))) for value in row))
    return Group(title, table)


_NUMBERS = frozenset({"int", "long", "float", "double", "decimal"})


def _print(watch: Watch, *, as_json: bool, upside_down: bool) -> None:
    from evertable.client.text import json_line, news, tsv

    before: Page | None = None
    for page in watch:
        if not as_json and (before is None or before.columns != page.columns):
            typer.echo(tsv(tuple(column.name for column in page.columns)))
        rows = news(before, page)
        for row in reversed(rows) if upside_down else rows:
            typer.echo(json_line(page, row) if as_json else tsv(row))
        before = page
