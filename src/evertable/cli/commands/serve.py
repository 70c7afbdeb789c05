"""``evertable serve``: runs the engine, the tables and the server."""

from __future__ import annotations

import asyncio
import gc
import signal
from functools import partial
from typing import TYPE_CHECKING

import typer

from evertable.cli.options import ConfigFile

if TYPE_CHECKING:
    from evertable.application import Application


def serve(
    config_file: ConfigFile = None,
    reset_wiring: bool = typer.Option(False, "--reset-wiring", help="Start with the wiring of the configuration."),
    take_over: bool = typer.Option(False, "--take-over", help="If the app runs already, stop the other process."),
) -> None:
    """Serve the configured topics as live tables, until Ctrl-C.

    The control topic, the page and evertable swap change topics and join.

    Example:  evertable serve examples/evertable.yaml
    """
    from evertable.application import Application
    from evertable.cli.logs import configure_logging
    from evertable.config import load
    from evertable.config.models import LogFormat
    from evertable.install.java import find_java

    config = load(config_file)
    configure_logging(config.logging)
    find_java()  # first, because nothing works without Java, not even once Kafka answers
    echo = partial(typer.echo, err=config.logging.format is LogFormat.JSON)  # JSON on standard output stays JSON
    for warning in config.warnings:
        echo(f"Note: {warning}")

    def up(url: str) -> None:
        echo(f"Serving at {url}")
        if config.changelog.replication == 1:
            echo("Note: changelog.replication is 1: the tables are lost if one broker loses its disk. Use 3.")
        echo("Next: open it in a browser.")
        echo(f"Or: evertable tail {config.joined_table} --url {url}, or evertable status --url {url}. Ctrl-C stops it.")

    application = Application(config, reset_wiring=reset_wiring, take_over=take_over, on_up=up)
    asyncio.run(run_until_signal(application))
    echo("Stopped.")


async def run_until_signal(application: Application) -> None:
    """Runs an application until Ctrl-C or another signal stops it."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, application.stop)
    gc.freeze()  # imported objects live until the end; scanning them takes 30 ms per collection
    await application.run()
