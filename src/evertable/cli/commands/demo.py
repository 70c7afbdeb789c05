"""``evertable demo``: a broker, sample data, Spark, the server and the page in one command."""

from __future__ import annotations

import asyncio
import secrets
import signal
from pathlib import Path

import typer

from evertable.cli.commands.serve import run_until_signal


def demo(
    rows: int = typer.Option(1000, "--rows", min=1, max=1_000_000, help="Users in each of the three pairs of topics."),
    rate: float = typer.Option(20, "--rate", min=0, max=10_000, help="New records per second; 0: none."),
    port: int = typer.Option(10000, "--port", "-p", min=0, max=65535, help="Port of the page; 0 takes a free one."),
    kafka_port: int = typer.Option(0, "--kafka-port", min=0, max=65535, help="Port of the broker; 0 takes a free one."),
    data_dir: Path | None = typer.Option(
        None, "--data-dir", file_okay=False, help="Folder for all data; default: a temporary one."
    ),
    no_browser: bool = typer.Option(False, "--no-browser", help="Do not open the page in a browser."),
) -> None:
    """Show live tables over changing sample data, until Ctrl-C.

    It starts a real Kafka broker, Spark, the server and its page.

    Example:  evertable demo --rows 10000 --rate 100
    """
    from evertable.application import Application
    from evertable.broker.ports import is_free
    from evertable.broker.settings import HOST
    from evertable.cli.logs import configure_logging
    from evertable.config.models import Logging
    from evertable.demo.environment import demo_environment
    from evertable.demo.welcome import link_to, open_page, welcome

    configure_logging(Logging())
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    if port and not is_free(HOST, port):
        typer.echo(f"Port {port} is in use. The page uses a free one.")
        port = 0
    typer.echo("Starting Kafka …")
    try:
        with demo_environment(rows, rate, data_dir, kafka_port) as environment:
            records = f"Using the records in {environment.folder}"
            if environment.written:
                records = f"{environment.written} sample records written"
            typer.echo(f"Kafka listens on {environment.broker.bootstrap}. {records}. Starting Spark …")
            token = secrets.token_urlsafe(32)
            urls: list[str] = []
            application = Application(environment.config(port, token), folder=environment.folder, on_up=urls.append)

            async def run() -> None:
                running = asyncio.create_task(run_until_signal(application))
                while not (application.ready or running.done()):
                    await asyncio.wait([running], timeout=0.05)
                if not running.done():
                    typer.echo(welcome(urls[0], token, environment.broker.bootstrap))
                    if not no_browser:
                        open_page(link_to(urls[0], token), environment.folder)
                await running

            asyncio.run(run())
            typer.echo("Stopping …")
    except KeyboardInterrupt:
        pass
    typer.echo("Stopped.")
