"""What a live table shows in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from tests.waiting import wait_until

WATCH = (Path(__file__).parent / "watching.js").read_text()


class Watch:
    """Checks every frame from now on: the table has rows, all of one pair of topics."""

    def __init__(self, page: Page, *columns: str) -> None:
        self._page = page
        page.evaluate(WATCH, list(columns or ("name", "accountType")))

    @property
    def marks(self) -> list[str]:
        """The marks of the pairs of topics, in the order in which they appeared."""
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
    """Returns the visible cells of a column, from top to bottom."""
    found: list[str] = page.evaluate(
        """name => [...document.querySelectorAll('live-table .ag-row')]
            .sort((one, other) => one.getAttribute('row-index') - other.getAttribute('row-index'))
            .map(row => row.querySelector(`.ag-cell[col-id="${name}"]`)?.textContent.trim() ?? '')""",
        column,
    )
    return found


def total(page: Page) -> int:
    """Returns the n of "rows a–b of n"; 0 without rows."""
    text = page.locator("live-table .live-range").inner_text()
    return int(text.split(" of ")[1].replace(",", "")) if " of " in text else 0


def wait_for_rows(page: Page, column: str, wanted: set[str], timeout_s: float = 60) -> None:
    """Waits until a column shows these values and no others."""
    wait_until(
        lambda: set(cells(page, column)) == wanted, lambda: f"{wanted} in {column}: {cells(page, column)}", timeout_s
    )
