"""A browser, tabs that must not log errors, and a folder for screenshots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from tests.serving.topics import pairs, records
from tests.web.chromium import DESKTOP, Tab, chromium

__all__ = ["pairs", "records"]  # fixtures

OpenTab = Callable[..., Tab]
Picture = Callable[[Tab, str], None]


@pytest.fixture(scope="module")  # not longer: Playwright keeps an event loop on this thread
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with chromium() as started:
        yield started


@pytest.fixture
def new_tab(browser: Browser) -> Iterator[OpenTab]:
    """Opens tabs, ``new_tab(viewport=PHONE, color_scheme="dark")``, and checks that none logged an error."""
    tabs: list[Tab] = []
    with ExitStack() as contexts:

        def made(**options: Any) -> Tab:
            context = browser.new_context(**{"viewport": DESKTOP, "locale": "en-GB", **options})
            context.set_default_timeout(60_000)
            contexts.callback(context.close)
            tabs.append(Tab(context))
            return tabs[-1]

        yield made
        assert [error for tab in tabs for error in tab.errors] == []


@pytest.fixture(scope="session")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Picture:
    """Saves a screenshot in the folder EVERTABLE_PICTURES, by default in a temporary one."""
    folder = Path(os.environ.get("EVERTABLE_PICTURES") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(parents=True, exist_ok=True)

    def save(tab: Tab, name: str) -> None:
        tab.page.screenshot(path=folder / f"{name}.png")

    return save
