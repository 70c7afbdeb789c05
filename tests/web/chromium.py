"""A real browser, and the errors of its pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (  # without requests of its own
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 380, "height": 720}


@contextmanager
def chromium() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "There is no chromium. Install it (on Debian: apt-get install chromium), or run scripts/test."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """One page of Evertable in a browser."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        self.page.on("console", self._add_line)

    def _add_line(self, line: ConsoleMessage) -> None:
        if line.type == "error":
            self.errors.append(line.text)

    def open(self, url: str, table: str = "") -> Tab:
        self.page.goto(f"{url}/#{table}")
        return self

    def axe(self) -> list[str]:
        """Lists serious accessibility problems."""
        self.page.evaluate(AXE.read_text())  # not as a script tag, which the page's policy forbids
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{finding['id']}: {finding['help']} ({', '.join(node['html'] for node in finding['nodes'][:3])})"
            for finding in found["violations"]
            if finding["impact"] in ("serious", "critical")
        ]
