"""Source topics with records, for the tests of this folder and of tests/web."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.serving.rig import Records

from evertable.broker import EmbeddedBroker

Pair = tuple[str, str]


@pytest.fixture(scope="session")
def records(broker: EmbeddedBroker) -> Records:
    return Records(broker.bootstrap)


@pytest.fixture(scope="session")
def pairs(new_topic: Callable[..., str], records: Records) -> dict[str, Pair]:
    """Three pairs of topics with different content: a, b and c."""
    made = {mark: (new_topic(2), new_topic(2)) for mark in "abc"}
    for size, (mark, topics) in enumerate(made.items(), 1):
        records.fill(topics, mark, 10 * size, 20 * size)
    return made
