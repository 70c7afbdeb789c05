"""Sends records to a topic without any check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from evertable.kafka.errors import QUIET, ConnectionErrors


def send_records(
    properties: Mapping[str, Any],
    topic: str,
    values: Sequence[bytes],
    key: bytes | None = None,
    timeout_s: float = 10.0,
) -> None:
    """Sends records and waits for their delivery; TopicNotFoundError, KafkaUnreachableError."""
    settings = {
        "enable.idempotence": True,
        "message.timeout.ms": round(timeout_s * 1000),
        "topic.metadata.propagation.max.ms": round(timeout_s * 500),
    }
    failures: list[KafkaError] = []
    errors = ConnectionErrors(properties)

    def delivered(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({**properties, **settings, "error_cb": errors.note}, logger=QUIET)
    try:
        for value in values:
            producer.produce(topic, value, key, on_delivery=delivered)
            producer.poll(0)
        producer.flush(timeout_s + 1)
    except KafkaException as problem:
        failures.append(problem.args[0])
    if failures:
        raise errors.explain(failures[0], topic, "Write")
