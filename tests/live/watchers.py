"""Viewers without sockets, for tests of the hub: told and served as a socket would be."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.live.picture import Picture
from tests.live.samples import settings

from evertable.live.hub import Hub
from evertable.live.live_view import BEGINNING, LiveView, Subscription
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.tables.catalog import Catalog
from evertable.views.view import View

SORTED = View(sort=("-age",))
LARGE = View(limit=5_000)


class Watcher:
    """A viewer that takes each frame as soon as it is told of it."""

    def __init__(self, hub: Hub, view: View, table: str = "users_ui", after: Stamp = BEGINNING) -> None:
        self.hub, self.picture, self.news = hub, Picture(), asyncio.Event()
        self.subscription = Subscription("a", 0, self._told, after)
        self.view: LiveView | None = None
        self.view = hub.attach(table, view, self.subscription)
        self._told(self.subscription)

    def _told(self, subscription: Subscription) -> None:
        if self.view is not None and (tail := self.hub.frame_for(self.view, subscription)) is not None:
            self.picture.apply(json.loads(answers.prefix(tail.kind, "a", 0) + tail.data))
            self.news.set()

    def leave(self) -> None:
        assert self.view is not None
        self.hub.detach(self.view, self.subscription)

    async def until(self, condition: Callable[[Picture], object]) -> None:
        while not condition(self.picture):
            await asyncio.wait_for(self.news.wait(), 30)
            self.news.clear()


class Sleeper(Watcher):
    """A viewer that is told, and takes nothing until it is asked to."""

    awake = False

    def _told(self, subscription: Subscription) -> None:
        if self.awake:
            super()._told(subscription)

    def wake_up(self) -> None:
        self.awake = True
        self._told(self.subscription)


class Gate:
    """Holds workers up when they have looked or computed, until it is opened."""

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
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def running(catalog: Catalog, **given: Any) -> AsyncIterator[Hub]:
    hub = Hub(catalog, settings(**given))
    async with hub.running():
        yield hub


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await scenario()

    asyncio.run(limited())
