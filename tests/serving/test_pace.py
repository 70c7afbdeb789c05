"""Who is read at a pace: a generation that warms while people watch another one, and no other."""

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
    """What the engine is told to start."""
    told: list[GenerationSpec] = []
    start = Engine.start

    def noted(engine: Engine, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        told.append(spec)
        return start(engine, spec, timeout_s)

    monkeypatch.setattr(Engine, "start", noted)
    return told


def swapped(app: App, topics: Pair) -> dict[str, Any]:
    return app.verdict(app.control({"usersTopic": topics[0], "accountsTopic": topics[1]}))


def test_a_swap_is_paced_and_the_first_start_is_not(
    configured: Configured, pairs: dict[str, Pair], specs: list[GenerationSpec]
) -> None:
    """For half of the time that it may take; then it must hurry."""
    with App(configured()) as app:
        app.wait_live()
        begin = time.time()
        assert swapped(app, pairs["b"])["result"] == "applied"
        assert len(app.rows("users_ui")) == 20
    first, second = specs
    assert first.throttled_until_ms == 0
    assert begin + 60 <= second.throttled_until_ms / 1000 <= time.time() + 60
    assert sum(last + 1 for last in second.left.backlog_ends.values()) == 20


def test_who_wants_to_see_rows_at_once_waits_for_none(
    configured: Configured, pairs: dict[str, Pair], specs: list[GenerationSpec]
) -> None:
    """Not paced, and no topic is read to its end before the other one goes on."""
    with App(configured(swap={"mode": "eager"})) as app:
        app.wait_live()
        assert swapped(app, pairs["b"])["result"] == "applied"
    throttles = [(spec.throttled_until_ms, spec.left.backlog_ends, spec.right.backlog_ends) for spec in specs]
    assert throttles == [(0, {}, {})] * 2
