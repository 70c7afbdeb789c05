"""Puts the subcommands together and shows errors so that one glance is enough."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import typer
from rich.console import Console
from rich.text import Text

from evertable.cli import commands
from evertable.errors import ConfigError, EvertableError

_HELP = """Live Kafka joins on Spark, under names that never break.

Example:  evertable demo
"""


def build_app() -> typer.Typer:
    """The typer app with every command of ``commands/``: the function that is named like its file."""
    app = typer.Typer(
        name="evertable",
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain text: boxes cut off defaults and addresses where a terminal is narrow
        pretty_exceptions_enable=False,  # a bug shows Python's own traceback
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_global_options)
    for module in sorted(pkgutil.iter_modules(commands.__path__), key=lambda found: found.name):
        command = getattr(importlib.import_module(f"{commands.__name__}.{module.name}"), module.name)
        app.command(name=module.name.replace("_", "-"))(command)
    return app


def main() -> None:
    """What the ``evertable`` script runs: exit 2 for a bad configuration, 1 for any other error of ours."""
    try:
        build_app()()
    except EvertableError as error:
        show(error)
        sys.exit(2 if isinstance(error, ConfigError) else 1)


def show(error: EvertableError) -> None:
    """Writes an error to standard error: the condition in red on a terminal, never a traceback."""
    from evertable.client.text import visible  # an error may quote what a server sent

    mark = f"[{error.condition}]"
    lines = str(error).removeprefix(mark).split("\n")
    text = Text(mark, style="bold red").append("\n".join(map(visible, lines)), style="default")
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def _version(wanted: bool) -> None:
    if wanted:
        from evertable.cli.versions import versions

        told = list(versions())
        width = max(len(label) for label, _ in told)
        for label, text in told:
            typer.echo(f"{label:<{width}}  {text}")
        raise typer.Exit


def _global_options(
    _version: bool = typer.Option(
        False, "--version", help="Show the versions of all its parts.", callback=_version, is_eager=True
    ),
) -> None:
    pass
