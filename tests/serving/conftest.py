"""Topics with something in them, and apps over them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.serving.rig import Records, config

from evertable.broker import EmbeddedBroker
from evertable.config import Config

Pair = tuple[str, str]
Configured = Callable[..., Config]


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


@pytest.fixture
def configured(broker: EmbeddedBroker, pairs: dict[str, Pair], tmp_path: Path) -> Configured:
    """A configuration for an app of its own if not said, on the topics of pair a if not said."""

    def make(topics: Pair | None = None, app: str = "", **sections: Any) -> Config:
        name = app or f"t{uuid.uuid4().hex[:12]}"
        return config(broker.bootstrap, name, topics or pairs["a"], tmp_path, **sections)

    return make
