"""``evertable forget``: deletes everything that one app owns."""

from __future__ import annotations

import typer

from evertable.cli.options import Clusters, ConfigFileOption, Kafka, Prefix


def forget(
    app: str = typer.Argument(metavar="APP", help="The app's name, as shown by `evertable apps`."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
    kafka: Kafka = None,
    config_file: ConfigFileOption = None,
    prefix: Prefix = None,
) -> None:
    """Delete everything that one app owns, after confirmation.

    An app owns its state, its changelogs, its control topic, and its checkpoints and log on this machine.

    Source topics, shared control topics and other apps are not touched. A running app is not deleted.

    Example:  evertable forget demo --kafka localhost:9092
    """
    from evertable.config.names import STATE, OwnTopics
    from evertable.errors import AppNotFoundError, AppRunningError
    from evertable.generations.forgetting import belongings, delete_files, delete_topics
    from evertable.kafka.admin import Admin
    from evertable.kafka.topics import topic_id, topic_names
    from evertable.state.apps import TIMEOUT_S, InstalledApp, find_apps, running_now
    from evertable.state.records import Owner
    from evertable.state.state import AppState

    def refuse_if(running: Owner | None) -> None:
        if running is not None:
            raise AppRunningError(f"The app '{app}' is running: {running}.", "Stop it first.")

    clusters = Clusters.from_options(kafka, config_file, prefix)
    found = {each.name: each for each in find_apps(clusters.own, clusters.prefix)}
    chosen = found.pop(app, None) or InstalledApp(app, (), AppState())
    refuse_if(chosen.running)
    state = [topic for topic in chosen.topics if topic == f"{clusters.prefix}.{app}.{STATE}"]
    admin = Admin(clusters.own.for_librdkafka())
    own = belongings(chosen, found.values(), topic_id(admin, state[0]) if state else "")
    control = OwnTopics(clusters.prefix, app, "").default_control
    elsewhere = []
    is_shared = any(each.uses(control) for each in found.values())
    if chosen.topics and not is_shared and clusters.own.is_another_cluster_than(clusters.control):
        there = topic_names(clusters.control.for_librdkafka(), timeout_s=TIMEOUT_S)
        elsewhere = [control] if control in there else []
    if not own:
        known = f"Known apps: {', '.join(found)}." if found else "This Kafka has no apps."
        raise AppNotFoundError(f"No app '{app}' has topics on Kafka at {clusters.address}.", known)
    typer.echo(f"The app '{app}' owns:")
    for topic in (*own.topics, *elsewhere):
        typer.echo(f"  topic {topic}")
    for path in own.files:
        typer.echo(f"  {path}")
    for sentence in own.kept:
        typer.echo(f"Kept: {sentence}")
    if not yes:
        typer.confirm("Delete all of it?", abort=True)
    if state:
        refuse_if(running_now(clusters.own, clusters.prefix, app))  # it may have been started meanwhile
    delete_topics(clusters.control, elsewhere)
    # Without its changelog, no start goes on from a checkpoint that is half deleted.
    delete_topics(clusters.own, [topic for topic in own.topics if topic not in state])
    delete_files(own.files)
    if state:
        refuse_if(running_now(clusters.own, clusters.prefix, app))
    delete_topics(clusters.own, state)  # last: until it is gone, this command can be repeated
    typer.echo(f"Deleted {len(own.topics) + len(elsewhere)} topics and {len(own.files)} files and folders.")
    typer.echo("Next: evertable apps shows the remaining apps.")
