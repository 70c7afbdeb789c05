"""Topics with records, and configurations of apps over them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.serving.rig import config
from tests.serving.topics import Pair, pairs, records

from evertable.broker import EmbeddedBroker
from evertable.config import Config

__all__ = ["pairs", "records"]  # fixtures

Configured = Callable[..., Config]


@pytest.fixture
def configured(broker: EmbeddedBroker, pairs: dict[str, Pair], tmp_path: Path) -> Configured:
    """Makes a configuration, by default for an app of its own on the topics of pair a."""

    def make(topics: Pair | None = None, app: str = "", **sections: Any) -> Config:
        name = app or f"t{uuid.uuid4().hex[:12]}"
        return config(broker.bootstrap, name, topics or pairs["a"], tmp_path, **sections)

    return make
