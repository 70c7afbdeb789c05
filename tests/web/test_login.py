"""The token in the link, a wrong token, and none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tests.live.samples import settings, table
from tests.server_thread import ServerThread
from tests.waiting import wait_until
from tests.web.conftest import OpenTab, Picture
from tests.web.watching import cells

from evertable.server.app import App
from evertable.tables.catalog import Catalog

TOKEN = "correct-horse-battery-staple"  # noqa: S105 - a test's


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Starts a server that requires a token."""
    chosen = settings(token=TOKEN)
    app = App(Catalog([], {"users_ui": table()}), chosen)
    with ServerThread(app, chosen) as server:
        yield server.url


def test_the_token_of_the_link_is_accepted(url: str, new_tab: OpenTab) -> None:
    """It stays neither in the address nor where other tabs can read it; a reload needs no link."""
    tab = new_tab()
    tab.page.goto(f"{url}/#token={TOKEN}")
    wait_until(lambda: "Ada" in cells(tab.page, "name"))
    assert TOKEN not in tab.page.url
    assert TOKEN not in tab.page.evaluate("JSON.stringify({...localStorage}) + document.cookie")
    tab.page.reload()
    wait_until(lambda: "Ada" in cells(tab.page, "name"))


def test_after_a_wrong_token_another_one_is_accepted(url: str, new_tab: OpenTab, picture: Picture) -> None:
    tab = new_tab()
    tab.page.goto(f"{url}/#token=wrong")
    expect(tab.page.get_by_role("alert")).to_contain_text("does not know that token")
    picture(tab, "login-wrong")
    assert tab.axe() == []
    tab.page.get_by_label("Token").fill(TOKEN)
    tab.page.get_by_role("button", name="Open the tables").click()
    wait_until(lambda: "Ada" in cells(tab.page, "name"))
    tab.page.get_by_role("button", name="Forget token").click()
    expect(tab.page.get_by_label("Token")).to_be_visible()
    assert not [error for error in tab.errors if not is_refusal(error)]
    tab.errors.clear()


def test_a_missing_token_is_requested(url: str, new_tab: OpenTab, picture: Picture) -> None:
    tab = new_tab().open(url)
    expect(tab.page.get_by_role("alert")).to_contain_text("requires a token")
    picture(tab, "login")
    assert not [error for error in tab.errors if not is_refusal(error)]
    tab.errors.clear()


def is_refusal(error: str) -> bool:
    """Returns whether this is the browser's own line about a refused request."""
    return "401" in error or "HTTP Authentication failed" in error
