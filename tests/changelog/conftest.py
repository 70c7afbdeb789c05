"""Records for the tests of the changelog's Kafka side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from confluent_kafka import Producer

from evertable.broker import EmbeddedBroker

Produce = Callable[..., None]


def produce_to(bootstrap: str) -> Produce:
    """A function that writes values to one partition and returns when they are there."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,  # or a retry, usual on a new topic, changes the order of records
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


@pytest.fixture(scope="session")
def produce(broker: EmbeddedBroker) -> Produce:
    return produce_to(broker.bootstrap)


@pytest.fixture(scope="module")
def own_broker() -> Iterator[EmbeddedBroker]:
    """A broker that may be killed; it compacts eagerly and creates whatever topic a careless client names."""
    with EmbeddedBroker(
        properties={"log.cleaner.backoff.ms": "100", "auto.create.topics.enable": "true", "num.partitions": "1"}
    ) as running:
        yield running
