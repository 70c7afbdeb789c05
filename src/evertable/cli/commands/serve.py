"""``evertable serve``: the whole of it."""

from __future__ import annotations

import asyncio
import gc
import signal
from functools import partial
from pathlib import Path

import typer


def serve(
    config_file: Path | None = typer.Argument(
        None, metavar="CONFIG", help="The configuration; evertable.yaml by default."
    ),
    reset_wiring: bool = typer.Option(False, "--reset-wiring", help="Begin with the wiring of the configuration."),
    take_over: bool = typer.Option(False, "--take-over", help="If the app is running already, stop that one."),
) -> None:
    """Serve the configured topics as live tables, until Ctrl-C.

    Swaps come from the control topic, the page, and evertable swap.

    Example:  evertable serve examples/evertable.yaml
    """
    from evertable.application import Application
    from evertable.cli.logs import write_logs
    from evertable.config import load
    from evertable.config.models import LogFormat
    from evertable.install.java import find_java

    config = load(config_file)
    write_logs(config.logging)
    find_java()  # before anything is started: without it nothing will be live, however long one waits for Kafka
    say = partial(typer.echo, err=config.logging.format is LogFormat.JSON)  # standard output is for machines then
    for warning in config.warnings:
        say(f"Note: {warning}")

    def up(url: str) -> None:
        say(f"Serving at {url}")
        if config.changelog.replication == 1:
            say("Note: changelog.replication is 1: a broker that loses its disk takes the tables with it. Use 3.")
        say("Next: open it in a browser.")
        say(f"Or: evertable tail {config.joined_table} --url {url}, or evertable status --url {url}. Ctrl-C stops it.")

    serving = Application(config, reset_wiring=reset_wiring, take_over=take_over, on_up=up)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, serving.stop)
        await serving.run()

    gc.freeze()  # what is imported lives as long as we do; looking through it for garbage takes 30 ms each time
    asyncio.run(run())
    say("Stopped.")
