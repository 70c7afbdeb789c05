"""``evertable demo``: everything at once, with sample data, to look at in a browser."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from evertable.application import Application

PORT = 10000


def demo(
    rows: int = typer.Option(1000, "--rows", min=1, max=1_000_000, help="Users in each of the three pairs of topics."),
    rate: float = typer.Option(20, "--rate", min=0, max=10_000, help="Records a second that go on coming; 0: none."),
    port: int = typer.Option(PORT, "--port", "-p", min=0, max=65535, help="Of the page; 0 takes a free one."),
    kafka_port: int = typer.Option(0, "--kafka-port", min=0, max=65535, help="Of the broker; 0 takes a free one."),
    data_dir: Path | None = typer.Option(
        None, "--data-dir", file_okay=False, help="Keeps all data there; else it goes when the demo ends."
    ),
    no_browser: bool = typer.Option(False, "--no-browser", help="Do not open the page in a browser."),
) -> None:
    """Show live tables over sample data that moves, until Ctrl-C.

    It brings all of it: a real Kafka broker, Spark, the server and its page.

    Example:  evertable demo --rows 10000 --rate 100
    """
    from evertable.application import Application
    from evertable.broker.ports import is_free
    from evertable.broker.settings import HOST
    from evertable.cli.logs import write_logs
    from evertable.config.models import Logging
    from evertable.demo import Stage
    from evertable.demo.inviting import Invitation
    from evertable.server.security import make_token

    write_logs(Logging())
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    if port and not is_free(HOST, port):
        typer.echo(f"Port {port} is in use: the page takes a free one.")
        port = 0
    typer.echo("Starting Kafka …")
    try:
        with Stage(rows, rate, data_dir, kafka_port) as stage:
            found = f"{stage.written} sample records written" if stage.written else f"Records found in {stage.folder}"
            typer.echo(f"Kafka listens on {stage.broker.bootstrap}. {found}. Starting Spark …")
            token = make_token()
            urls: list[str] = []
            serving = Application(stage.config(port, token), folder=stage.folder, on_up=urls.append)

            def show() -> None:
                invitation = Invitation(urls[0], token, stage.broker.bootstrap)
                typer.echo(invitation.text)
                if not no_browser:
                    invitation.open(stage.folder)

            gc.freeze()  # as `serve` does
            asyncio.run(_run(serving, show))
            typer.echo("Stopping …")
    except KeyboardInterrupt:
        pass
    typer.echo("Stopped.")


async def _run(serving: Application, show: Callable[[], None]) -> None:
    """Until a signal; ``show`` is called once the tables are there."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, serving.stop)
    running = asyncio.create_task(serving.run())
    while not (serving.ready or running.done()):
        await asyncio.wait([running], timeout=0.05)
    if not running.done():
        show()
    await running
