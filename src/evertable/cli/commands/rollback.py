"""``evertable rollback``: what was live before, live again."""

from __future__ import annotations

import signal
from pathlib import Path

import typer

from evertable.cli.swapping import TIMEOUT_S, tell_outcome


def rollback(
    wait: bool = typer.Option(True, "--wait/--no-wait", help="Return when it is live; or when it was sent."),
    timeout_s: float = typer.Option(TIMEOUT_S, "--timeout", min=0, help="Seconds to wait at most; 0: for ever."),
    url: str | None = typer.Option(
        None, "--url", envvar="EVERTABLE_URL", show_default="http://127.0.0.1:10000", help="The server's address."
    ),
    token_file: Path | None = typer.Option(None, "--token-file", help="Holds the token; else EVERTABLE_TOKEN does."),
    ca: Path | None = typer.Option(None, "--ca", help="PEM file to check the server's certificate with."),
) -> None:
    """Go back to the wiring that was live before this one.

    As long as the generation before lingers, that takes no time; else it is built again.

    Example:  evertable rollback --timeout 60
    """
    from evertable.client.client import Client

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Client.given(url, token_file, ca) as client:
        tell_outcome(client, client.rollback(), wait=wait, timeout_s=timeout_s)
