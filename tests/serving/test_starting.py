"""An app that is still starting holds its lease, however long Spark takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.serving.conftest import Configured
from tests.serving.rig import App
from tests.waiting import wait_until

from evertable.config import Config
from evertable.engine.process import Engine
from evertable.errors import AppRunningError, FencedError, TopicNotFoundError
from evertable.shutdown import Shutdown
from evertable.state.ownership import Ownership
from evertable.state.state import StateFold
from evertable.state.state_log import StateLog
from evertable.state.state_topic import StateTopic


@pytest.fixture
def slow_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Delays the start of Spark to the end of the test."""
    released = threading.Event()
    monkeypatch.setattr(Engine, "open", lambda _: released.wait())
    yield released
    released.set()


def newcomer(configuration: Config) -> StateTopic:
    return StateTopic.of(configuration, Shutdown())


def wait_claimed(app: App) -> None:
    """Waits until the app has claimed its name."""
    log = StateLog(app.config.changelog_kafka, newcomer(app.config).topic, 1, 10)

    def claimed() -> bool:
        memory = StateFold()
        try:
            with closing(log.reader()) as reader:
                Ownership(memory=memory).fold(reader.to_the_end())
        except TopicNotFoundError:
            return False
        return memory.state().owner is not None

    wait_until(claimed, "the claim")


@pytest.mark.usefixtures("slow_spark")
def test_an_app_that_is_starting_is_not_taken_over(configured: Configured) -> None:
    with App(configured()) as starting:
        wait_claimed(starting)
        for _ in range(2):
            with pytest.raises(AppRunningError, match=starting.url):
                newcomer(starting.config).open()
        assert starting.running


@pytest.mark.usefixtures("slow_spark")
def test_an_app_that_is_replaced_while_it_starts_names_its_successor(configured: Configured) -> None:
    with App(configured()) as starting:
        wait_claimed(starting)
        successor = newcomer(starting.config)
        successor.open(take_over=True)
        wait_until(lambda: not starting.running, "its end")
        successor.close()
    assert isinstance(starting.failure, FencedError)
    assert str(successor.owner) in str(starting.failure)
