"""``evertable serve``: the whole of it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import typer


def serve(
    config_file: Path | None = typer.Argument(None, metavar="[CONFIG]", help="evertable.yaml, if not said."),
    reset_wiring: bool = typer.Option(False, "--reset-wiring", help="Begin with the wiring of the configuration."),
) -> None:
    """Serve the configured topics as live tables, and follow the control topic, until Ctrl-C.

    Example:  evertable serve examples/evertable.yaml
    """
    from evertable.config import load
    from evertable.generations.serving import Serving

    config = load(config_file)
    for warning in config.warnings:
        typer.echo(f"Note: {warning}")

    def up(url: str) -> None:
        typer.echo(f"Serving at {url}")
        typer.echo("Next: open it in a browser.")
        typer.echo(
            f"Or: evertable tail {config.joined_table} --url {url}, or evertable status --url {url}. Ctrl-C stops it."
        )

    serving = Serving(config, reset_wiring=reset_wiring, on_up=up)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, serving.stop)
        await serving.run()

    asyncio.run(run())
    typer.echo("Stopped.")
