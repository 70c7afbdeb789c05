"""``evertable check``: validates a configuration and prints it."""

from __future__ import annotations

import typer

from evertable.cli.options import ConfigFile


def check(
    file: ConfigFile = None,
) -> None:
    """Show the configuration in effect, or all its problems.

    Secrets are masked. Each problem is shown with its path, and the exit code is 2. The command does not connect to
    Kafka: it does not check topics and brokers.

    Example:  evertable check evertable.yaml
    """
    from evertable.config import effective, load

    config = load(file)
    typer.echo(effective(config), nl=False)
    for warning in config.warnings:
        typer.echo(f"Warning: {warning}", err=True)  # standard output holds YAML only, which may go to a file
    source = config.path if config.path is not None else "The configuration from the environment"
    sources = f"{config.left.name} and {config.right.name}, {config.join.type} join"
    next_step = "evertable serve" if file is None else f"evertable serve {file}"
    typer.echo(f"{source} is valid: {sources}. Next: {next_step}", err=True)
