"""``evertable forget``: everything that one app owns, deleted."""

from __future__ import annotations

from pathlib import Path

import typer


def forget(
    app: str = typer.Argument(metavar="APP", help="Its name, as `evertable apps` shows it."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
    kafka: str | None = typer.Option(None, "--kafka", metavar="HOST:PORT", help="The broker; else evertable.yaml's."),
    config_file: Path | None = typer.Option(None, "--config", help="The configuration; evertable.yaml by default."),
    prefix: str | None = typer.Option(None, "--prefix", help="Begins the topics' names; else evertable.yaml's."),
) -> None:
    """Delete everything that one app owns, after asking.

    That is its state, its changelogs, its own control topic, and its checkpoints and log on this machine.

    Source topics, shared control topics and other apps are not touched. An app that is running is refused.

    Example:  evertable forget demo --kafka localhost:9092
    """
    from evertable.cli.clusters import Clusters
    from evertable.config.names import STATE, OwnTopics
    from evertable.errors import AppNotFoundError, AppRunningError
    from evertable.generations.forgetting import belongings, delete_files, delete_topics
    from evertable.kafka.properties import Role
    from evertable.kafka.topics import topic_names
    from evertable.state.apps import TIMEOUT_S, InstalledApp, find_apps, running_now
    from evertable.state.records import Owner
    from evertable.state.state import AppState

    def refuse_if(running: Owner | None) -> None:
        if running is not None:
            raise AppRunningError(f"The app '{app}' is running: {running}.", "Stop it first, then forget it.")

    clusters = Clusters.given(kafka, config_file, prefix)
    found = {each.name: each for each in find_apps(clusters.own, clusters.prefix)}
    chosen = found.pop(app, None) or InstalledApp(app, (), AppState())
    refuse_if(chosen.running)
    own = belongings(chosen, found.values())
    control = OwnTopics(clusters.prefix, app, "").default_control
    is_shared = any(each.uses(control) for each in found.values())
    is_elsewhere = False
    if chosen.topics and clusters.are_two:
        is_elsewhere = control in topic_names(clusters.control.for_librdkafka(Role.ADMIN), timeout_s=TIMEOUT_S)
    elsewhere = [control] if is_elsewhere and not is_shared else []
    if not own:
        known = f"Known are {', '.join(found)}." if found else "It has none of anybody's."
        raise AppNotFoundError(f"No app '{app}' has topics on Kafka at {clusters.where}.", known)
    typer.echo(f"The app '{app}' owns:")
    for topic in (*own.topics, *elsewhere):
        typer.echo(f"  topic {topic}")
    for path in own.files:
        typer.echo(f"  {path}")
    for sentence in own.kept:
        typer.echo(f"Kept: {sentence}")
    if not yes:
        typer.confirm("Delete all of it?", abort=True)
    if f"{clusters.prefix}.{app}.{STATE}" in own.topics:
        refuse_if(running_now(clusters.own, clusters.prefix, app))  # it may have been started meanwhile
    delete_files(own.files)
    delete_topics(clusters.control, elsewhere)
    delete_topics(clusters.own, own.topics)
    typer.echo(f"Forgotten: {len(own.topics) + len(elsewhere)} topics and {len(own.files)} files and folders deleted.")
    typer.echo("Next: evertable apps shows what is left.")
