"""State topics for tests, each of its own app, on the shared broker or on one that may be killed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from evertable.broker import EmbeddedBroker
from evertable.config import KafkaProperties
from evertable.state.state import AppState
from evertable.state.state_topic import StateTopic

FOR_EVER = 10_000.0
"""Longer than a test may take, so that a test that waits for it fails."""


class Apps:
    """State topics of one app each; all are closed at the end."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.broker = broker
        self._made: list[StateTopic] = []

    def new(self, app: str, **more: Any) -> StateTopic:
        kafka = KafkaProperties.of({"bootstrap.servers": self.broker.bootstrap})
        self._made.append(StateTopic(kafka, "evertable", app, **more))
        return self._made[-1]

    def opened(self, app: str, wait_s: float = FOR_EVER, **more: Any) -> StateTopic:
        topic = self.new(app, **more)
        topic.open(wait_s)
        return topic

    def close(self) -> None:
        for topic in self._made:
            topic.close()


@pytest.fixture
def apps(broker: EmbeddedBroker) -> Iterator[Apps]:
    with closing(Apps(broker)) as made:
        yield made


@pytest.fixture(scope="module")
def own_broker() -> Iterator[EmbeddedBroker]:
    """A broker that may be killed, compacts eagerly, and aborts transactions soon."""
    soon = {
        "log.cleaner.backoff.ms": "100",
        "log.initial.task.delay.ms": "100",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    }
    with EmbeddedBroker(properties=soon) as running:
        yield running


@pytest.fixture
def own_apps(own_broker: EmbeddedBroker) -> Iterator[Apps]:
    with closing(Apps(own_broker.start())) as made:
        yield made


@pytest.fixture
def app() -> str:
    return f"app-{uuid.uuid4()}"


def numbers(state: AppState) -> int:
    return state.last_generation
