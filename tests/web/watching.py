"""What a person sees in a live table, and what they should never see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from tests.waiting import wait_until

WATCH = (Path(__file__).parent / "watching.js").read_text()


class Watch:
    """Every frame of the table that a page shows, from now on: its rows are of one pair of topics, and never none."""

    def __init__(self, page: Page, *columns: str) -> None:
        self._page = page
        page.evaluate(WATCH, list(columns or ("name", "accountType")))

    @property
    def marks(self) -> list[str]:
        """Of the pairs of topics, in the order in which they were seen."""
        found: list[str] = self._seen["marks"]
        return found

    @property
    def problems(self) -> list[str]:
        found: list[str] = self._seen["problems"]
        return found

    @property
    def frames(self) -> int:
        return int(self._seen["frames"])

    @property
    def _seen(self) -> dict[str, Any]:
        found: dict[str, Any] = self._page.evaluate("window.evertableSeen")
        return found


def cells(page: Page, column: str) -> list[str]:
    """What a column shows on screen, from top to bottom."""
    found: list[str] = page.evaluate(
        """name => [...document.querySelectorAll('live-table .ag-row')]
            .sort((one, other) => one.getAttribute('row-index') - other.getAttribute('row-index'))
            .map(row => row.querySelector(`.ag-cell[col-id="${name}"]`)?.textContent.trim() ?? '')""",
        column,
    )
    return found


def total(page: Page) -> int:
    """The n of "rows a–b of n"; 0 while it says no rows."""
    said = page.locator("live-table .live-range").inner_text()
    return int(said.split(" of ")[1].replace(",", "")) if " of " in said else 0


def wait_for_rows(page: Page, column: str, wanted: set[str], timeout_s: float = 60) -> None:
    """Until a column shows these values and no others."""
    wait_until(
        lambda: set(cells(page, column)) == wanted, lambda: f"{wanted} in {column}: {cells(page, column)}", timeout_s
    )
