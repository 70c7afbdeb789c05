"""``evertable init``: a first configuration, from what topics hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from evertable.guessing.columns import Sample

SAMPLES = 500


def init(
    topics: list[str] = typer.Argument(None, metavar="TOPIC", help="Two topics; the only two, if not said."),
    kafka: str = typer.Option("localhost:9092", "--kafka", metavar="HOST:PORT", help="The broker."),
    file: Path = typer.Option(Path("evertable.yaml"), "--file", "-o", dir_okay=False, help="Where to write it."),
    force: bool = typer.Option(False, "--force", help="Write over a file that is there."),
) -> None:
    """Write a first evertable.yaml for two topics, from their records.

    Columns, types and the key are guessed. What it was unsure of stands at the top of the file.

    Example:  evertable init users_v1 accounts_v1 --kafka localhost:9092
    """
    from evertable.client.errors import OutputError
    from evertable.config import Config
    from evertable.errors import NoGuessError
    from evertable.guessing.key import guess_key
    from evertable.guessing.writing import as_yaml

    if file.exists() and not force:
        raise OutputError(f"{file} is there already.", "Name another file with --file, or say --force.")
    properties = {"bootstrap.servers": kafka}
    left, right = _samples(_two(topics or [], properties, kafka), properties)
    for sample in (left, right):
        if not sample.rows:
            raise NoGuessError(f"No record of '{sample.topic}' is a JSON object.", "Choose another topic, or fill it.")
    key = guess_key(left, right)
    if key is None:
        raise NoGuessError(
            f"'{left.topic}' and '{right.topic}' have no column of the same type.", "Choose other topics."
        )
    text = as_yaml(kafka, left, right, key)
    Config.model_validate(_read(text))  # what is written can be read
    file.write_text(text, encoding="utf-8")
    for doubt in (*left.doubts, *right.doubts, *key.doubts):
        typer.echo(f"Unsure: {doubt}.")
    typer.echo(f"{file} is written: {left.topic} and {right.topic}, joined by {key.left} = {key.right}.")
    typer.echo(f"Next: look through it, then evertable check {file}, evertable serve {file}")


def _two(given: list[str], properties: dict[str, str], kafka: str) -> list[str]:
    from evertable.errors import NoGuessError
    from evertable.kafka.topics import topic_names

    if len(given) == 2:
        return given
    found = sorted(name for name in topic_names(properties, timeout_s=5) if not name.startswith(("__", "evertable")))
    if not given and len(found) == 2:
        return found
    listed = ", ".join(found[:20]) + (" …" if len(found) > 20 else "") or "none"
    raise NoGuessError(f"Say which two topics: Kafka at {kafka} has {listed}.", "evertable init LEFT RIGHT")


def _samples(topics: list[str], properties: dict[str, str]) -> list[Sample]:
    """What each topic holds; an error names all of them that are missing, and what may be meant."""
    from evertable.errors import TopicNotFoundError
    from evertable.generations.suggestions import with_suggestions
    from evertable.guessing.columns import looked_at
    from evertable.guessing.sampling import newest

    found: list[Sample] = []
    missing: list[TopicNotFoundError] = []
    for topic in topics:
        try:
            found.append(looked_at(topic, newest(properties, topic, SAMPLES)))
        except TopicNotFoundError as error:
            missing.append(with_suggestions(error, properties))
    if missing:
        raise TopicNotFoundError.of(missing)
    return found


def _read(text: str) -> dict[str, object]:
    import yaml

    read: dict[str, object] = yaml.safe_load(text)
    return read
