"""``evertable status``: what is live, how much, how fresh, and what is being built."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from evertable.cli.options import Ca, TokenFile, Url, open_client

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from evertable.cli.summary import StatusSummary
    from evertable.client.client import Client

POLL_S = 1.0


def status(
    watch: bool = typer.Option(False, "--watch", "-w", help="Continue until Ctrl-C."),
    url: Url = None,
    token_file: TokenFile = None,
    ca: Ca = None,
) -> None:
    """Show what is live, how much, how fresh, and what is being built.

    Shows wiring, generation, state, rows, rows per second, lag and age of the data.

    With --watch in a pipe: a line for each change.

    Example:  evertable status --watch
    """
    from rich.console import Console

    from evertable.cli.summary import read_summary

    console = Console(highlight=False)
    with suppress(KeyboardInterrupt), open_client(url, token_file, ca) as client:
        summary = read_summary(client)
        if not watch:
            _print(summary, console)
        elif sys.stdout.isatty() and not console.is_dumb_terminal:
            _draw_changes(summary, client, console)
        else:
            _print_changes(summary, client)


def _poll(summary: StatusSummary, client: Client) -> Iterator[tuple[StatusSummary, str]]:
    """Yields the newest summary once a second, with the problem if the server is unreachable."""
    from evertable.cli.summary import read_summary
    from evertable.client.errors import ServerUnreachableError

    problem = ""
    while True:
        yield summary, problem
        time.sleep(POLL_S)
        try:
            summary, problem = read_summary(client), ""
        except ServerUnreachableError as error:
            problem = f"{error.what} Retrying."


def _draw_changes(summary: StatusSummary, client: Client, console: Console) -> None:
    from rich.live import Live

    with Live(console=console, auto_refresh=False) as live:
        for newest, problem in _poll(summary, client):
            live.update(_drawing(newest, problem), refresh=True)


def _print_changes(summary: StatusSummary, client: Client) -> None:
    printed = ""
    for newest, problem in _poll(summary, client):
        line = problem or newest.line()
        if line != printed:
            typer.echo(line)
            printed = line


def _print(summary: StatusSummary, console: Console) -> None:
    if console.is_terminal:
        console.print(_drawing(summary))
        return
    for label, text in summary.facts.items():  # by echo, because rich would wrap long lines in a pipe
        typer.echo(f"{label:<14}{text}")
    if summary.building:
        typer.echo(f"{'building':<14}{summary.progress}")


def _drawing(summary: StatusSummary, problem: str = "") -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for label, text in summary.facts.items():
        colour = ("green" if text in ("live", "ready") else "yellow") if label == "state" else "default"
        table.add_row(Text(label, style="bold"), Text(text, style=colour))
    parts: list[RenderableType] = [table]
    if summary.building:
        unknown = summary.fraction is None
        parts += [Text(summary.progress), ProgressBar(total=1, completed=summary.fraction or 0, pulse=unknown)]
    if problem:
        parts.append(Text(problem, style="yellow"))
    return Group(*parts)
