"""Only a generation that warms beside a live one is throttled."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.serving.conftest import Configured
from tests.serving.rig import App
from tests.serving.topics import Pair

from evertable.engine.process import Engine
from evertable.engine.protocol import Started
from evertable.engine.spec import GenerationSpec


@pytest.fixture
def specs(monkeypatch: pytest.MonkeyPatch) -> list[GenerationSpec]:
    """Collects the specs of the queries that the engine starts."""
    collected: list[GenerationSpec] = []
    start = Engine.start

    def collecting(engine: Engine, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        collected.append(spec)
        return start(engine, spec, timeout_s)

    monkeypatch.setattr(Engine, "start", collecting)
    return collected


def swapped(app: App, topics: Pair) -> dict[str, Any]:
    return app.verdict(app.control({"usersTopic": topics[0], "accountsTopic": topics[1]}))


def test_a_swap_is_throttled_and_the_first_start_is_not(
    configured: Configured, pairs: dict[str, Pair], specs: list[GenerationSpec]
) -> None:
    """It is throttled for half of ``swap.timeout_s``."""
    with App(configured()) as app:
        app.wait_live()
        begin = time.time()
        assert swapped(app, pairs["b"])["result"] == "applied"
        assert len(app.rows("users_ui")) == 20
    first, second = specs
    assert first.throttled_until_ms == 0
    assert begin + 60 <= second.throttled_until_ms / 1000 <= time.time() + 60
    assert sum(second.left.backlog_ends.values()) == 20


def test_an_eager_swap_is_not_throttled(
    configured: Configured, pairs: dict[str, Pair], specs: list[GenerationSpec]
) -> None:
    """It is shown before its backlog is read."""
    with App(configured(swap={"mode": "eager"})) as app:
        app.wait_live()
        assert swapped(app, pairs["b"])["result"] == "applied"
    assert [(spec.throttled_until_ms, spec.is_eager) for spec in specs] == [(0, True)] * 2
