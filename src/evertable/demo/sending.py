"""Records sent by hand, as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from evertable.kafka.errors import QUIET, explain


def send_all(
    properties: Mapping[str, Any],
    topic: str,
    values: Sequence[bytes],
    key: bytes | None = None,
    timeout_s: float = 10.0,
) -> None:
    """Returns when Kafka has them all; TopicNotFoundError, KafkaUnreachableError."""
    own = {
        "enable.idempotence": True,
        "message.timeout.ms": round(timeout_s * 1000),
        "topic.metadata.propagation.max.ms": round(timeout_s * 500),
    }
    failures: list[KafkaError] = []
    troubles: list[str] = []

    def delivered(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            failures.append(error)

    def troubled(error: KafkaError) -> None:
        if not troubles or error.code() != KafkaError._ALL_BROKERS_DOWN:  # which says less than what came before
            troubles.append(error.str())

    producer = Producer({**properties, **own, "error_cb": troubled}, logger=QUIET)
    try:
        for value in values:
            producer.produce(topic, value, key, on_delivery=delivered)
            producer.poll(0)
        producer.flush(timeout_s + 1)
    except KafkaException as problem:
        failures.append(problem.args[0])
    if failures:
        raise explain(failures[0], topic, str(properties.get("bootstrap.servers", "")), "".join(troubles[-1:]))
