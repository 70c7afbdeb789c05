"""``evertable send``: writes records to a topic, for trials."""

from __future__ import annotations

import sys

import typer

from evertable.cli.options import ConfigFileOption, Kafka


def send(
    topic: str = typer.Argument(metavar="TOPIC", help="The topic to write to."),
    records: list[str] = typer.Argument(None, metavar="RECORD", help="Values of records; default: standard input."),
    key: str | None = typer.Option(None, "--key", help="The key of each record."),
    kafka: Kafka = None,
    config_file: ConfigFileOption = None,
) -> None:
    """Write records to a topic, without any check.

    Without a RECORD, each line of standard input is one.

    Example:  evertable send users_v1 '{"userId": "u1", "age": "forty-two"}' --kafka 127.0.0.1:9092
    """
    from evertable.config import load
    from evertable.demo.sending import send_records
    from evertable.errors import TopicNotFoundError
    from evertable.generations.suggestions import with_suggestions

    properties = {"bootstrap.servers": kafka} if kafka else load(config_file).kafka.for_librdkafka()
    values = [record.encode() for record in records or []] or [line.rstrip(b"\n") for line in sys.stdin.buffer]
    try:
        send_records(properties, topic, values, None if key is None else key.encode())
    except TopicNotFoundError as error:
        raise with_suggestions(error, properties) from error
    typer.echo(f"Sent {len(values)} record{'' if len(values) == 1 else 's'} to {topic}.")
