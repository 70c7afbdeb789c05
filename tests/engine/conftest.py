"""One Spark session for the whole run, and generations on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.rig import Generation, config

from evertable.broker import EmbeddedBroker
from evertable.config import JoinType
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.engine.protocol import EngineEvent

NewGeneration = Callable[..., Generation]


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    log = tmp_path_factory.mktemp("engine") / "spark.log"
    with Engine(EngineSettings(log=log)) as running:
        yield running


@pytest.fixture
def engine_events(engine: Engine) -> Iterator[list[EngineEvent]]:
    """All events of the engine since the test began."""
    events: list[EngineEvent] = []
    engine.listen(events.append)
    yield events
    engine.listen(None)


@pytest.fixture(scope="session")
def _numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def new_generation(
    broker: EmbeddedBroker,
    engine: Engine,
    new_topic: Callable[..., str],
    tmp_path: Path,
    _numbers: Iterator[int],
) -> NewGeneration:
    """Makes a generation with its own topics: ``with new_generation(JoinType.LEFT) as generation: …``."""

    def make(join: JoinType, trigger: str = "realtime", partitions: int = 3, **settings: Any) -> Generation:
        left, right = settings.pop("topics", None) or (new_topic(partitions), new_topic(partitions))
        number = next(_numbers)
        wiring = config(broker.bootstrap, left, right, join, trigger, **settings)
        return Generation(wiring, number, engine, tmp_path / f"checkpoint-{number}")

    return make
