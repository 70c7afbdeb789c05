"""``evertable init``: a first configuration, from what topics hold."""

from __future__ import annotations

from pathlib import Path

import typer

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
    from evertable.config import Config
    from evertable.errors import EvertableError
    from evertable.guessing.columns import looked_at
    from evertable.guessing.key import guess_key
    from evertable.guessing.sampling import newest
    from evertable.guessing.writing import as_yaml

    if file.exists() and not force:
        raise EvertableError(f"{file} is there already.", "Name another file with --file, or say --force.")
    properties = {"bootstrap.servers": kafka}
    left, right = (
        looked_at(topic, newest(properties, topic, SAMPLES)) for topic in _two(topics or [], properties, kafka)
    )
    for sample in (left, right):
        if not sample.rows:
            raise EvertableError(
                f"No record of '{sample.topic}' is a JSON object.", "Choose another topic, or fill it."
            )
    key = guess_key(left, right)
    if key is None:
        raise EvertableError(
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
    from evertable.errors import EvertableError
    from evertable.generations.topic_ids import topic_names

    if len(given) == 2:
        return given
    found = sorted(name for name in topic_names(properties, timeout_s=5) if not name.startswith(("__", "evertable")))
    if not given and len(found) == 2:
        return found
    listed = ", ".join(found[:20]) + (" …" if len(found) > 20 else "") or "none"
    raise EvertableError(f"Say which two topics: Kafka at {kafka} has {listed}.", "evertable init LEFT RIGHT")


def _read(text: str) -> dict[str, object]:
    import yaml

    read: dict[str, object] = yaml.safe_load(text)
    return read
