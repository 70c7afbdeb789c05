"""A server with a fake orchestrator for commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.client.fake_orchestrator import FakeOrchestrator


@pytest.fixture
def orchestrator() -> Iterator[FakeOrchestrator]:
    made = FakeOrchestrator()
    made.start()
    yield made
    made.stop()
