"""One real broker for the whole run, and new topics on it."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from hypothesis import settings as hypothesis_settings

from evertable.broker import EmbeddedBroker

# Shells start background jobs with Ctrl-C ignored, which children inherit; tests send it to them.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis_settings.register_profile("untimed", deadline=None)  # other processes may use the cores
hypothesis_settings.load_profile("untimed")


@pytest.fixture(scope="session")
def broker() -> Iterator[EmbeddedBroker]:
    """One embedded broker for the whole run; each test has its own topics."""
    keep = {"log.retention.ms": "-1"}  # tests send records with old timestamps
    with EmbeddedBroker(properties=keep) as running:
        yield running


@pytest.fixture(scope="session")
def new_topic(broker: EmbeddedBroker) -> Callable[..., str]:
    """Makes a topic with a new name: ``new_topic(partitions=3, **{"cleanup.policy": "compact"})``."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})

    def make(partitions: int = 1, **settings: str) -> str:
        name = f"t-{uuid.uuid4()}"
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
        admin.create_topics([topic])[name].result(timeout=30)
        return name

    return make
