"""``evertable check``: what a configuration means, or everything that is wrong with it."""

from __future__ import annotations

from pathlib import Path

import typer


def check(
    file: Path | None = typer.Argument(
        None, metavar="CONFIG", help="The configuration; looked for in the usual places if left out."
    ),
) -> None:
    """Show the configuration in effect, or everything wrong with it.

    Secrets are masked. Every problem has its path; the exit code is 2 then. Nothing is contacted: topics and brokers
    are not looked at.

    Example:  evertable check evertable.yaml
    """
    from evertable.config import effective, load

    config = load(file)
    typer.echo(effective(config), nl=False)
    for warning in config.warnings:
        typer.echo(f"Warning: {warning}", err=True)  # not among the YAML, which may go to a file
    where = config.path if config.path is not None else "The configuration from the environment"
    joined = f"{config.left.name} and {config.right.name}, {config.join.type} join"
    next_step = "evertable serve" if file is None else f"evertable serve {file}"
    typer.echo(f"{where} is fine: {joined}. Next: {next_step}", err=True)
