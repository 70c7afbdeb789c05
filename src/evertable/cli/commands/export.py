"""``evertable export``: a whole table as a file."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

import typer

STDOUT = Path("-")


def export(
    name: str = typer.Argument(..., metavar="TABLE", help="The table's public name."),
    output: Path = typer.Option(..., "--output", "-o", help="FILE.csv, .arrow or .parquet; - for CSV on stdout."),
    force: bool = typer.Option(False, "--force", help="Write over a file that is there."),
    columns: str = typer.Option("", "--columns", help="Which columns, with commas between them; all if not said."),
    sort: str = typer.Option("", "--sort", help="By which columns, - before a name for descending: -balance,name"),
    filter_: str = typer.Option("", "--filter", help="Which rows: \"balance > 100 and name contains 'a'\""),
    raw_formulas: bool = typer.Option(
        False, "--raw-formulas", help="In CSV, leave texts as they are that a spreadsheet would run as formulas."
    ),
    url: str | None = typer.Option(
        None, "--url", envvar="EVERTABLE_URL", show_default="http://127.0.0.1:10000", help="The server's address."
    ),
    token_file: Path | None = typer.Option(None, "--token-file", help="Holds the token; else EVERTABLE_TOKEN does."),
    ca: Path | None = typer.Option(None, "--ca", help="PEM file to check the server's certificate with."),
) -> None:
    """Write all rows of a table, as they are at one moment, to a file.

    The file gets its name when it is complete; a failed export leaves nothing. In CSV, a text that a spreadsheet
    would run as a formula gets an apostrophe in front.

    Example:  evertable export final_ui -o final.parquet --filter "balance > 100"
    """
    from rich.console import Console
    from rich.filesize import decimal as size

    from evertable.client.client import Client
    from evertable.client.errors import OutputError
    from evertable.client.export import complete_file, format_of, write_csv

    signal.signal(signal.SIGTERM, _end)
    requested, write = ("csv", write_csv) if output == STDOUT else format_of(output)
    if raw_formulas and requested != "csv":
        raise OutputError(f"{output} has no formulas: --raw-formulas is for CSV.", "Leave it out.")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with (
        Client.given(url, token_file, ca) as client,
        client.table(name).stream(
            requested,
            columns.split(",") if columns else None,
            sort.split(",") if sort else (),
            filter_,
            raw_formulas=raw_formulas,
        ) as pieces,
    ):
        if output == STDOUT:
            write(pieces, sys.stdout.buffer, lambda count: None)
            sys.stdout.buffer.flush()
            return
        with console.status(name) as status, complete_file(output, overwrite=force) as file:
            write(pieces, file, lambda count: status.update(f"{name}: {size(count)}"))
    console.print(f"Wrote {output}: {size(output.stat().st_size)}.", markup=False)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + signal.SIGTERM)  # by way of all that cleans up
