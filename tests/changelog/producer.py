"""Produces records for tests that need real Kafka."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from confluent_kafka import Producer

Produce = Callable[..., None]


def produce_to(bootstrap: str) -> Produce:
    """Returns a function that writes values to one partition and waits until they are stored."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,  # otherwise a retry, which is usual on a new topic, reorders records
            "linger.ms": 0,
            "message.max.bytes": 10_000_000,
        }
    )

    def produce(topic: str, values: Sequence[bytes | None], partition: int = 0, key: bytes | None = None) -> None:
        failures: list[object] = []
        for value in values:
            producer.produce(
                topic, value, key, partition, on_delivery=lambda error, _: failures.append(error) if error else None
            )
        assert producer.flush(60) == 0
        assert not failures

    return produce
