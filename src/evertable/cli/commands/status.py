"""``evertable status``: what is live, how much, how fresh, and what is on its way."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from evertable.cli.overview import Overview
    from evertable.client.client import Client

LOOK_S = 1.0


def status(
    watch: bool = typer.Option(False, "--watch", "-w", help="Go on until Ctrl-C."),
    url: str | None = typer.Option(
        None, "--url", envvar="EVERTABLE_URL", show_default="http://127.0.0.1:10000", help="The server's address."
    ),
    token_file: Path | None = typer.Option(None, "--token-file", help="Holds the token; else EVERTABLE_TOKEN does."),
    ca: Path | None = typer.Option(None, "--ca", help="PEM file to check the server's certificate with."),
) -> None:
    """Show what is live, how much, how fresh, and what is being built.

    Wiring, generation, state, rows, rows per second, lag and age of the data.

    With --watch in a pipe: a line for each change.

    Example:  evertable status --watch
    """
    from rich.console import Console

    from evertable.client.client import Client

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(highlight=False)
    with suppress(KeyboardInterrupt), Client.given(url, token_file, ca) as client:
        looks = _looks(client)
        if not watch:
            seen, _ = next(looks)
            if seen.rows is not None and seen.rows_per_s is None:  # how many there are per second shows a second later
                seen, _ = next(looks)
            _print_once(seen, console)
        elif sys.stdout.isatty() and not console.is_dumb_terminal:
            _show(looks, console)
        else:
            _print(looks)


def _looks(client: Client) -> Iterator[tuple[Overview, str]]:
    """What is seen, again and again, and what keeps it from being newer; the first look has to succeed."""
    from evertable.cli.overview import look
    from evertable.client.errors import ServerUnreachableError

    seen, at = look(client), time.monotonic()
    yield seen, ""
    while True:
        time.sleep(LOOK_S)
        try:
            found, now = look(client), time.monotonic()
        except ServerUnreachableError as error:
            yield seen, f"{error.what} Trying again."
            continue
        seen, at = found.since(seen, now - at), now
        yield seen, ""


def _show(looks: Iterator[tuple[Overview, str]], console: Console) -> None:
    from rich.live import Live

    with Live(console=console, auto_refresh=False) as live:
        for seen, trouble in looks:
            live.update(_drawing(seen, trouble), refresh=True)


def _print(looks: Iterator[tuple[Overview, str]]) -> None:
    before = ""
    for seen, trouble in looks:
        line = trouble or seen.line()
        if line != before:
            typer.echo(line)
            before = line


def _print_once(seen: Overview, console: Console) -> None:
    if console.is_terminal:
        console.print(_drawing(seen))
        return
    for label, text in seen.lines():  # not folded to the width of a terminal that is not there
        typer.echo(f"{label:<14}{text}")
    if seen.progress is not None:
        typer.echo(f"{'on its way':<14}{seen.progress.line()}")


def _drawing(seen: Overview, trouble: str = "") -> RenderableType:
    from rich.console import Group
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for label, text in seen.lines():
        colour = ("green" if text in ("live", "ready") else "yellow") if label == "state" else "default"
        table.add_row(Text(label, style="bold"), Text(text, style=colour))
    drawn: list[RenderableType] = [table]
    if seen.progress is not None:
        bar = Progress(TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[done]}"))
        fraction = seen.progress.fraction
        done = "" if fraction is None else f"{fraction:.0%}"
        total = None if fraction is None else 1_000
        bar.add_task(str(seen.progress), total=total, completed=round((fraction or 0) * 1_000), done=done)
        drawn.append(bar.get_renderable())
    if trouble:
        drawn.append(Text(trouble, style="yellow"))
    return Group(*drawn)
