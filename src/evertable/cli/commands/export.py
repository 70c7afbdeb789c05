"""``evertable export``: writes a whole table to a file."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from evertable.cli.options import Ca, Columns, Filter, Sort, Table, TokenFile, Url, names_in, open_client

STDOUT = Path("-")


def export(
    name: Table,
    output: Path = typer.Option(..., "--output", "-o", help="FILE.csv, .arrow or .parquet; - for CSV on stdout."),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing file."),
    columns: Columns = "",
    sort: Sort = "",
    filter_: Filter = "",
    raw_formulas: bool = typer.Option(
        False, "--raw-formulas", help="In CSV, do not change texts that a spreadsheet would run as formulas."
    ),
    url: Url = None,
    token_file: TokenFile = None,
    ca: Ca = None,
) -> None:
    """Write a snapshot of all rows of a table to a file.

    The file gets its name when it is complete; a failed export leaves no file. In CSV, a text that a spreadsheet
    would run as a formula gets a leading apostrophe.

    Example:  evertable export final_ui -o final.parquet --filter "balance > 100"
    """
    from rich.console import Console
    from rich.filesize import decimal as size

    from evertable.client.errors import OutputError
    from evertable.client.export import complete_file, format_of, write_csv

    requested, write = ("csv", write_csv) if output == STDOUT else format_of(output)
    if raw_formulas and requested != "csv":
        raise OutputError(f"--raw-formulas is for CSV only, not for {output}.", "Leave it out.")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with (
        open_client(url, token_file, ca) as client,
        client.table(name).stream(
            requested, names_in(columns), names_in(sort) or (), filter_, raw_formulas=raw_formulas
        ) as chunks,
    ):
        if output == STDOUT:
            write(chunks, sys.stdout.buffer, lambda count: None)
            sys.stdout.buffer.flush()
            return
        with console.status(name) as status, complete_file(output, overwrite=force) as file:
            write(chunks, file, lambda count: status.update(f"{name}: {size(count)}"))
    console.print(f"Wrote {output}: {size(output.stat().st_size)}.", markup=False)
