"""``evertable broker``: runs the embedded broker."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType

import typer

from evertable.errors import BrokerError


def broker(
    port: int = typer.Option(9092, "--port", "-p", min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one."),
    data_dir: Path = typer.Option(
        Path("evertable-data/broker"),
        "--data-dir",
        file_okay=False,
        help="Folder for records; they survive restarts.",
    ),
    auto_create: bool = typer.Option(False, "--auto-create", help="Create topics when a client first asks for them."),
) -> None:
    """Run a real Kafka broker with one node until Ctrl-C.

    It is for trials and tests: it listens on loopback only, without security.

    Example:  evertable broker --port 9092 --data-dir evertable-data/broker
    """
    from evertable.broker import EmbeddedBroker

    stop = threading.Event()

    def request_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    typer.echo("Starting Kafka …")
    embedded = EmbeddedBroker(port, data_dir, {"auto.create.topics.enable": str(auto_create).lower()})
    with embedded:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, request_stop)
        typer.echo(f"Kafka listens on {embedded.bootstrap}; records in {data_dir}, log in {embedded.log_file}")
        typer.echo(f'Next: kafka: {{bootstrap.servers: "{embedded.bootstrap}"}} in evertable.yaml. Ctrl-C stops it.')
        while not stop.wait(0.5):
            if not embedded.running:
                raise BrokerError("The broker has died.", f"See its log: {embedded.log_file}.")
        typer.echo("Stopping …")
    typer.echo("Stopped.")
