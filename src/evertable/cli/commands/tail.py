"""``evertable tail``: a live table in the terminal, or its new rows in a pipe."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from evertable.cli.options import Ca, Columns, Filter, Sort, Table, TokenFile, Url, names_in, open_client

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from evertable.client.connection import ConnectionState
    from evertable.client.watch import Watch
    from evertable.protocol.page import Page

POLL_S = 0.25  # for the size of the terminal and the state of the connection
_LINES_AROUND = 6  # lines that hold no rows: title, three lines of the frame, names, and the cursor
_NUMBERS = frozenset({"int", "long", "float", "double", "decimal"})


def tail(
    name: Table,
    columns: Columns = "",
    sort: Sort = "",
    filter_: Filter = "",
    limit: int = typer.Option(100, "--limit", min=1, help="Maximum number of rows; a terminal shows as many as fit."),
    newest_first: bool = typer.Option(True, "--newest-first/--oldest-first", help="Order of arrival."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per line."),
    url: Url = None,
    token_file: TokenFile = None,
    ca: Ca = None,
) -> None:
    """Show a live table until Ctrl-C, across swaps and restarts.

    In a pipe: the rows of the first page, then new and changed rows, the newest last, as TSV with a header or as JSON
    lines. Rows that appear and disappear between two pages are not printed. Control characters are escaped as in JSON;
    in TSV, backslashes are doubled.

    Example:  evertable tail final_ui --sort -balance --filter "accountType = 'chq'"
    """
    from rich.console import Console

    console = Console(highlight=False)
    with suppress(KeyboardInterrupt), open_client(url, token_file, ca) as client:
        watch = client.table(name).watch(
            names_in(columns), names_in(sort) or (), filter_, limit=limit, newest_first=newest_first
        )
        if sys.stdout.isatty() and not console.is_dumb_terminal and not as_json:
            _draw_pages(watch, name, console)
        else:
            _print_rows(watch, as_json=as_json, is_reversed=newest_first and not sort)


def _draw_pages(watch: Watch, name: str, console: Console) -> None:
    """Draws the newest page whenever it, the connection or the size of the terminal changes."""
    from rich.live import Live

    page: Page | None = None
    drawn: object = None
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            page = watch.poll(POLL_S) or page
            current = (page, watch.state, console.size)
            if current != drawn:
                live.update(_drawing(name, page, watch.state, console.size.height), refresh=True)
                drawn = current


def _drawing(name: str, page: Page | None, state: ConnectionState, height: int) -> RenderableType:
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    from evertable.client.text import text, visible

    title = Text(visible(name), style="bold", no_wrap=True, overflow="ellipsis")
    if page is not None:
        title.append(f"  generation {page.generation}, publication {page.publication}, {page.total:,} rows", "default")
    title.append(f"  {state}", "green" if state == "live" else "yellow")
    if page is None:
        return title
    grid = Grid()
    for column in page.columns:
        grid.add_column(
            Text(visible(column.name)), justify="right" if column.type.kind in _NUMBERS else "left", no_wrap=True
        )
    for row in page.rows[: max(height - _LINES_AROUND, 1)]:
        grid.add_row(*(Text(visible(text(value))) for value in row))
    return Group(title, grid)


def _print_rows(watch: Watch, *, as_json: bool, is_reversed: bool) -> None:
    from evertable.client.text import json_line, new_rows, tsv

    previous: Page | None = None
    for page in watch:
        if not as_json and (previous is None or previous.columns != page.columns):
            typer.echo(tsv(tuple(column.name for column in page.columns)))
        rows = new_rows(previous, page)
        for row in reversed(rows) if is_reversed else rows:
            typer.echo(json_line(page, row) if as_json else tsv(row))
        previous = page
