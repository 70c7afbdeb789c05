"""``evertable apps``: which apps have topics on a broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from evertable.state.apps import InstalledApp


def apps(
    kafka: str | None = typer.Option(None, "--kafka", metavar="HOST:PORT", help="The broker; else evertable.yaml's."),
    config_file: Path | None = typer.Option(None, "--config", help="The configuration; evertable.yaml by default."),
    prefix: str | None = typer.Option(None, "--prefix", help="Begins the topics' names; else evertable.yaml's."),
) -> None:
    """List the apps that have topics on a broker.

    For each: whether it is running and where, its live generation, its topics, and its checkpoints on this machine.

    Example:  evertable apps --kafka localhost:9092
    """
    from evertable.cli.clusters import Clusters
    from evertable.control.messages import printable
    from evertable.state.apps import find_apps

    clusters = Clusters.given(kafka, config_file, prefix)
    found = find_apps(clusters.own, clusters.prefix)
    for app in found:
        typer.echo(app.name)
        for label, text in _lines(app):
            typer.echo(f"  {label:<11}  {printable(text)}")
    if not found:
        typer.echo(f"No app has topics that begin with '{clusters.prefix}.' on Kafka at {clusters.where}.")
        return
    typer.echo("Next: evertable forget APP deletes everything that one app owns.")


def _lines(app: InstalledApp) -> Iterator[tuple[str, str]]:
    from evertable.generations.forgetting import checkpoint_folder

    last, live = app.state.owner, app.state.live
    if app.running:
        yield "running", str(app.running)
    else:
        yield "not running", f"the last was {last}" if last else "no owner is known"
    if live:
        wiring = live.wiring
        what = f"{wiring.left_topic}, {wiring.join} join with {wiring.right_topic}"
        yield "live", f"generation {live.generation}: {what}"
    yield "topics", ", ".join(app.topics)
    if live:
        folder = checkpoint_folder(app.name, app.state)
        yield "checkpoints", str(folder) if folder else f"not on this machine: {live.checkpoint}"
    if app.problem:
        yield "problem", app.problem
