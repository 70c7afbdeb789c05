"""``evertable send``: a record to a topic, to try things out."""

from __future__ import annotations

import sys
from pathlib import Path

import typer


def send(
    topic: str = typer.Argument(metavar="TOPIC", help="The topic to write to."),
    records: list[str] = typer.Argument(None, metavar="RECORD", help="Their values; standard input, if not said."),
    key: str | None = typer.Option(None, "--key", help="The key of each record."),
    kafka: str | None = typer.Option(None, "--kafka", metavar="HOST:PORT", help="The broker; else evertable.yaml's."),
    config_file: Path | None = typer.Option(None, "--config", help="The configuration; evertable.yaml by default."),
) -> None:
    """Write records to a topic as they stand, good ones or bad ones.

    From standard input each line is one.

    Example:  evertable send users_v1 '{"userId": "u1", "age": "forty-two"}' --kafka 127.0.0.1:9092
    """
    from evertable.config import Role, load
    from evertable.demo.sending import send_all
    from evertable.errors import TopicNotFoundError
    from evertable.generations.suggestions import with_suggestions

    given = {"bootstrap.servers": kafka} if kafka else load(config_file).kafka.for_librdkafka(Role.PRODUCER)
    values = [record.encode() for record in records or []] or [line.rstrip(b"\n") for line in sys.stdin.buffer]
    try:
        send_all(given, topic, values, None if key is None else key.encode())
    except TopicNotFoundError as missing:
        raise with_suggestions(missing, given) from missing
    typer.echo(f"Sent {len(values)} record{'' if len(values) == 1 else 's'} to {topic}.")
