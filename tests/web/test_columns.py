"""A swap to a table with other columns in an open page, and the size of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Response, expect
from starlette.types import Receive, Scope, Send
from tests.live.samples import USERS, settings, table
from tests.server_thread import ServerThread
from tests.waiting import wait_until
from tests.web.conftest import OpenTab, Picture
from tests.web.watching import cells

from evertable.schema.columns import parse_columns
from evertable.server.app import App
from evertable.tables.catalog import Catalog

BUDGET = 400_000
"""Bytes over the wire until the page can show rows."""

OTHER = parse_columns({"userId": "string", "city": "string", "name": "string", "joined": "date"})
ELSEWHERE = [("u1", "Oslo", "Ada", None), ("u2", "Porto", "Bob", None)]


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog(["users_ui"])
    made.publish(1, {"users_ui": table(USERS)})
    return made


@pytest.fixture
def url(catalog: Catalog) -> Iterator[str]:
    chosen = settings()
    app = App(catalog, chosen)
    with ServerThread(app, chosen) as server:
        yield server.url


def columns(page: Page) -> list[str]:
    """Returns the headers from left to right."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('live-table .ag-header-cell')]
            .sort((one, other) => one.getAttribute('aria-colindex') - other.getAttribute('aria-colindex'))
            .map(header => header.getAttribute('col-id'))"""
    )
    return found


def width(page: Page, column: str) -> float:
    box = page.locator(f'live-table .ag-header-cell[col-id="{column}"]').bounding_box()
    assert box is not None
    return box["width"]


def test_a_swap_adds_and_removes_columns(url: str, catalog: Catalog, new_tab: OpenTab, picture: Picture) -> None:
    """Other columns keep their width, and the grid its focus; a message names a removed sort column."""
    tab = new_tab().open(url, "users_ui")
    page = tab.page
    wait_until(lambda: "Ada" in cells(page, "name"))
    assert columns(page) == ["userId", "name", "age"]
    page.evaluate("window.firstTable = document.querySelector('live-table')")
    page.locator("live-table .live-head-sort", has_text="age").click()
    wait_until(lambda: cells(page, "age")[:2] == ["36", "41"])
    page.locator('live-table .ag-cell[col-id="name"]').first.click()
    before = width(page, "name")

    catalog.publish(2, {"users_ui": table(OTHER, ELSEWHERE)})
    wait_until(lambda: cells(page, "city") == ["Oslo", "Porto"])
    assert columns(page) == ["userId", "city", "name", "joined"]
    assert width(page, "name") == before
    assert page.evaluate("window.firstTable === document.querySelector('live-table')")
    assert page.evaluate("document.activeElement.closest('live-table') !== null")
    expect(page.locator("live-table .live-missing")).to_contain_text("age")
    picture(tab, "other-columns")

    catalog.publish(3, {"users_ui": table(USERS)})
    wait_until(lambda: cells(page, "age")[:2] == ["36", "41"])
    expect(page.locator("live-table .live-missing")).to_have_count(0)


def test_the_first_load_is_within_its_budget(url: str, new_tab: OpenTab) -> None:
    """All files of the page count, as they are sent."""
    tab = new_tab()
    sizes: dict[str, int] = {}

    def note(answer: Response) -> None:
        sizes[answer.url] = int(answer.headers.get("content-length", 0))

    tab.page.on("response", note)
    tab.open(url, "users_ui")
    wait_until(lambda: "Ada" in cells(tab.page, "name"))
    scripts = [address for address in sizes if address.endswith(".js")]
    assert scripts
    assert sum(sizes.values()) < BUDGET, sizes


def test_it_works_below_a_path(catalog: Catalog, new_tab: OpenTab) -> None:
    """Behind a proxy that strips a path, page, requests and socket use relative addresses."""
    chosen = settings()
    app = App(catalog, chosen)

    async def proxied(scope: Scope, receive: Receive, send: Send) -> None:
        if "path" in scope:
            scope = {
                **scope,
                "path": scope["path"].removeprefix("/live") if scope["path"].startswith("/live/") else "/-",
            }
        await app(scope, receive, send)

    with ServerThread(proxied, chosen) as server:
        tab = new_tab().open(f"{server.url}/live", "users_ui")
        wait_until(lambda: "Ada" in cells(tab.page, "name"))
