"""``evertable apps``: lists the apps that have topics on a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from evertable.cli.options import Clusters, ConfigFileOption, Kafka, Prefix

if TYPE_CHECKING:
    from evertable.state.apps import InstalledApp


def apps(
    kafka: Kafka = None,
    config_file: ConfigFileOption = None,
    prefix: Prefix = None,
) -> None:
    """List the apps that have topics on a broker.

    Shows for each app whether and where it runs, its live generation, its topics, and its checkpoints on this machine.

    Example:  evertable apps --kafka localhost:9092
    """
    from evertable.problems import printable
    from evertable.state.apps import find_apps

    clusters = Clusters.from_options(kafka, config_file, prefix)
    found = find_apps(clusters.own, clusters.prefix)
    for app in found:
        typer.echo(app.name)
        for label, text in _lines(app):
            typer.echo(f"  {label:<11}  {printable(text)}")
    if not found:
        typer.echo(f"No app has topics with the prefix '{clusters.prefix}.' on Kafka at {clusters.address}.")
        return
    typer.echo("Next: evertable forget APP deletes everything that one app owns.")


def _lines(app: InstalledApp) -> Iterator[tuple[str, str]]:
    from evertable.generations.forgetting import checkpoint_folder

    owner, live = app.state.owner, app.state.live
    if app.running:
        yield "running", str(app.running)
    else:
        yield "not running", f"last run by {owner}" if owner else "its owner is unknown"
    if live:
        wiring = live.wiring
        description = f"{wiring.left_topic}, {wiring.join} join with {wiring.right_topic}"
        yield "live", f"generation {live.generation}: {description}"
    yield "topics", ", ".join(app.topics)
    if live:
        folder = checkpoint_folder(app.name, app.state)
        yield "checkpoints", str(folder) if folder else f"not on this machine: {live.checkpoint}"
    if app.problem:
        yield "problem", app.problem
