"""Fixtures for tests that need real Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.changelog.producer import Produce, produce_to

from evertable.broker import EmbeddedBroker


@pytest.fixture(scope="session")
def produce(broker: EmbeddedBroker) -> Produce:
    return produce_to(broker.bootstrap)


@pytest.fixture(scope="module")
def own_broker() -> Iterator[EmbeddedBroker]:
    """A broker that tests may kill; it compacts eagerly and creates every topic that a client names."""
    with EmbeddedBroker(
        properties={"log.cleaner.backoff.ms": "100", "auto.create.topics.enable": "true", "num.partitions": "1"}
    ) as running:
        yield running
