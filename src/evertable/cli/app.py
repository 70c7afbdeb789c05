"""Builds the command line from the modules in ``commands``, and prints errors without a traceback."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import platform
import sys
from collections.abc import Iterator

import typer
from rich.console import Console
from rich.text import Text

from evertable import __version__
from evertable.cli import commands
from evertable.errors import ConfigError, EvertableError

_HELP = """Live Kafka joins on Spark, under names that never break.

Example:  evertable demo
"""


def build_app() -> typer.Typer:
    """Returns the typer app with one command per module: the function that has the module's name."""
    app = typer.Typer(
        name="evertable",
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # boxes cut off defaults and addresses in a narrow terminal
        pretty_exceptions_enable=False,  # Python's own traceback is enough for a bug
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_global_options)
    for module in pkgutil.iter_modules(commands.__path__):  # sorted by name
        command = getattr(importlib.import_module(f"{commands.__name__}.{module.name}"), module.name)
        app.command(name=module.name.replace("_", "-"))(command)
    return app


def main() -> None:
    """Runs the ``evertable`` script; exits with 2 for a bad configuration, with 1 for any other EvertableError."""
    try:
        build_app()()
    except EvertableError as error:
        show(error)
        sys.exit(2 if isinstance(error, ConfigError) else 1)


def show(error: EvertableError) -> None:
    """Prints an error to standard error, in a terminal with its condition in red."""
    from evertable.client.text import visible  # an error may quote what a server sent

    mark = f"[{error.condition}]"
    lines = str(error).removeprefix(mark).split("\n")
    text = Text(mark, style="bold red").append("\n".join(map(visible, lines)), style="default")
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def versions() -> Iterator[tuple[str, str]]:
    """Returns a label and a text for each part. Runs ``java -version``, which takes about 100 ms."""
    from evertable.install.jars import LOCK_FILE, read_lock
    from evertable.web import is_built

    jars = {(jar.set_name, jar.coordinate.artifact): jar.coordinate.version for jar in read_lock(LOCK_FILE)}
    yield "evertable", __version__
    yield "Python", f"{platform.python_version()} at {sys.executable}"
    yield "PySpark", importlib.metadata.version("pyspark")
    yield "engine", f"kafka-clients {jars['engine', 'kafka-clients']}"
    yield "broker", f"Kafka {jars['broker', 'kafka_2.13']}, for evertable broker and evertable demo"
    yield "Java", _java_version()
    yield "web page", "built" if is_built() else "not built: run scripts/setup"


def _java_version() -> str:
    from evertable.install.java import find_java

    try:
        found = find_java()
    except EvertableError as error:
        return f"not usable. {error.what}"
    return f"{found.version} at {found.home}"


def _print_versions(requested: bool) -> None:
    if requested:
        lines = list(versions())
        width = max(len(label) for label, _ in lines)
        for label, text in lines:
            typer.echo(f"{label:<{width}}  {text}")
        raise typer.Exit


def _global_options(
    _version: bool = typer.Option(
        False, "--version", help="Show the versions of all parts.", callback=_print_versions, is_eager=True
    ),
) -> None:
    pass
