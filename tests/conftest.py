"""What all tests share: one real broker per run, and a fresh topic for whoever asks."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from hypothesis import settings as hypothesis_settings

from evertable.broker import EmbeddedBroker

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that; tests send it to them.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis_settings.register_profile("untimed", deadline=None)  # other processes may use the cores
hypothesis_settings.load_profile("untimed")


@pytest.fixture(scope="session")
def broker() -> Iterator[EmbeddedBroker]:
    """One embedded broker for the whole run; tests keep apart by the names of their topics."""
    keep = {
        "log.retention.ms": "-1"
    }  # tests send records with old timestamps, which retention would take for old records
    with EmbeddedBroker(properties=keep) as running:
        yield running


@pytest.fixture(scope="session")
def new_topic(broker: EmbeddedBroker) -> Callable[..., str]:
    """Makes a topic with a name of its own: ``new_topic(partitions=3, **{"cleanup.policy": "compact"})``."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})

    def make(partitions: int = 1, **settings: str) -> str:
        name = f"t-{uuid.uuid4()}"
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
        admin.create_topics([topic])[name].result(timeout=30)
        return name

    return make
