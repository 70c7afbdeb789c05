"""Viewers without sockets, for tests of the hub: notified and served as a socket would be."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.live.clock import PAUSE_S, REAL_TIMEOUT_S, ManualClock
from tests.live.picture import Picture
from tests.live.samples import settings

from evertable.live.current_page import BEGINNING, Subscription
from evertable.live.hub import Hub
from evertable.live.live_view import LiveView
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.tables.catalog import Catalog
from evertable.views.view import View

SORTED = View(sort=("-age",))
LARGE = View(limit=5_000)


class ClockedHub(Hub):
    """A hub on a clock that the test advances."""

    def __init__(self, catalog: Catalog, **given: Any) -> None:
        self.clock = ManualClock()
        super().__init__(catalog, settings(**given), self.clock)


class Watcher:
    """A viewer that reads each frame as soon as it is notified."""

    def __init__(self, hub: ClockedHub, view: View, table: str = "users_ui", after: Stamp = BEGINNING) -> None:
        self.hub, self.picture = hub, Picture()
        self.subscription = Subscription("a", 0, self._notified, after)
        hub.attach(table, view, self.subscription)
        self._notified(self.subscription)

    def _notified(self, subscription: Subscription) -> None:
        if (tail := self.hub.frame_for(subscription)) is not None:
            self.picture.apply(json.loads(answers.prefix(tail.kind, "a", 0) + tail.data))

    def leave(self) -> None:
        self.hub.detach(self.subscription)

    @property
    def view(self) -> LiveView:
        return self.subscription.view

    async def until(self, condition: Callable[[Picture], object]) -> None:
        """Advances the hub's clock until the picture meets the condition."""
        await self.hub.clock.until(lambda: condition(self.picture))


class Sleeper(Watcher):
    """A viewer that reads nothing until the test wakes it."""

    awake = False

    def _notified(self, subscription: Subscription) -> None:
        if self.awake:
            super()._notified(subscription)

    def wake_up(self) -> None:
        self.awake = True
        self._notified(self.subscription)


class Gate:
    """Holds workers at the end of a method until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, method: str) -> None:
        self.opened, self.entered, self.passed = threading.Event(), 0, 0
        self.failing = False
        real = getattr(owner, method)

        def held(*args: Any) -> Any:
            result = real(*args)
            if threading.current_thread() is threading.main_thread():
                return result
            self.entered += 1
            assert self.opened.wait(30)
            if self.failing:
                raise RuntimeError("planted")
            self.passed += 1
            return result

        monkeypatch.setattr(owner, method, held)


async def wait_until(condition: Callable[[], object]) -> None:
    """Waits for worker threads."""
    async with asyncio.timeout(REAL_TIMEOUT_S):
        while not condition():
            await asyncio.sleep(PAUSE_S)


@asynccontextmanager
async def running(catalog: Catalog, **given: Any) -> AsyncIterator[ClockedHub]:
    hub = ClockedHub(catalog, **given)
    async with hub.running():
        yield hub


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await scenario()

    asyncio.run(limited())


def tasks() -> int:
    """Returns the number of other tasks."""
    return len(asyncio.all_tasks()) - 1
