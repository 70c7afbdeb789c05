"""``evertable init``: writes a first configuration, inferred from the records of two topics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from evertable.inference.columns import Sample

SAMPLES = 500


def init(
    topics: list[str] = typer.Argument(None, metavar="TOPIC", help="Two topics; default: the only two of the broker."),
    kafka: str = typer.Option("localhost:9092", "--kafka", metavar="HOST:PORT", help="The broker."),
    file: Path = typer.Option(Path("evertable.yaml"), "--file", "-o", dir_okay=False, help="The file to write."),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing file."),
) -> None:
    """Write a first evertable.yaml for two topics, from their records.

    It infers columns, types and the key. Warnings are listed at the top of the file.

    Example:  evertable init users_v1 accounts_v1 --kafka localhost:9092
    """
    import yaml

    from evertable.client.errors import OutputError
    from evertable.config import Config
    from evertable.errors import NoGuessError
    from evertable.inference.key import infer_key
    from evertable.inference.yaml_text import config_yaml

    if file.exists() and not force:
        raise OutputError(f"{file} exists already.", "Choose another file with --file, or overwrite it with --force.")
    properties = {"bootstrap.servers": kafka}
    left, right = _samples(_two_topics(topics or [], properties, kafka), properties)
    for sample in (left, right):
        if not sample.rows:
            raise NoGuessError(
                f"No record of '{sample.topic}' is a JSON object.", "Choose another topic, or send records to it."
            )
    key = infer_key(left, right)
    if key is None:
        raise NoGuessError(
            f"'{left.topic}' and '{right.topic}' have no column of the same type.", "Choose other topics."
        )
    text = config_yaml(kafka, left, right, key)
    Config.model_validate(yaml.safe_load(text))  # fails here if the text is invalid
    file.write_text(text, encoding="utf-8")
    for warning in (*left.warnings, *right.warnings, *key.warnings):
        typer.echo(f"Unsure: {warning}.")
    typer.echo(f"Wrote {file}: {left.topic} and {right.topic}, joined by {key.left} = {key.right}.")
    typer.echo(f"Next: review it, then run evertable check {file} and evertable serve {file}")


def _two_topics(given: list[str], properties: dict[str, str], kafka: str) -> list[str]:
    from evertable.errors import NoGuessError
    from evertable.kafka.topics import topic_names

    if len(given) == 2:
        return given
    found = sorted(name for name in topic_names(properties, timeout_s=5) if not name.startswith(("__", "evertable")))
    if not given and len(found) == 2:
        return found
    listed = ", ".join(found[:20]) + (" …" if len(found) > 20 else "") or "none"
    raise NoGuessError(f"Which two topics? Kafka at {kafka} has {listed}.", "Run: evertable init LEFT RIGHT")


def _samples(topics: list[str], properties: dict[str, str]) -> list[Sample]:
    """Samples both topics; TopicNotFoundError names all missing topics, with suggestions."""
    from evertable.errors import TopicNotFoundError
    from evertable.generations.suggestions import with_suggestions
    from evertable.inference.columns import newest_values, sample_of

    found: list[Sample] = []
    missing: list[TopicNotFoundError] = []
    for topic in topics:
        try:
            found.append(sample_of(topic, newest_values(properties, topic, SAMPLES)))
        except TopicNotFoundError as error:
            missing.append(with_suggestions(error, properties))
    if missing:
        raise TopicNotFoundError.of(missing)
    return found
