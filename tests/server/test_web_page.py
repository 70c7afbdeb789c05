"""The web page: its policy, its files, and access to them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.server.conftest import Serve

from evertable import web
from evertable.server.web_page import NONCE, NOT_BUILT
from evertable.tables.catalog import Catalog

SCRIPT = "console.log('Evertable')\n" * 100


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a page as the build does."""
    monkeypatch.setattr(web, "FILES", tmp_path)
    (tmp_path / "index.html").write_text(f'<script src="main-ABCD1234.js" nonce="{NONCE}"></script><x n="{NONCE}">')
    (tmp_path / "main-ABCD1234.js").write_text(SCRIPT)
    (tmp_path / "icons").mkdir()
    (tmp_path / "icons" / "logo.svg").write_text("<svg/>")
    return tmp_path


@pytest.fixture
def browser(serve: Serve, catalog: Catalog, built: Path) -> Iterator[httpx.Client]:
    """Returns a browser without a token, on a server that requires one."""
    assert built.exists()
    server = serve(catalog, {"token": "secret-enough"})
    with httpx.Client(base_url=server.url) as made:
        yield made


def test_each_page_has_its_own_nonce(browser: httpx.Client) -> None:
    """The nonce of the policy is everywhere in the text; nothing else inline runs."""
    seen = set()
    for _ in range(3):
        page = browser.get("/")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        policy = page.headers["content-security-policy"]
        nonces = set(re.findall(r"'nonce-([\w-]+)'", policy))
        assert len(nonces) == 1
        assert "unsafe" not in policy
        assert page.text.count(*nonces) == 2
        assert NONCE not in page.text
        assert page.headers["cache-control"] == "no-store"
        seen |= nonces
    assert len(seen) == 3


def test_files_with_a_hash_in_their_name_are_cached_forever(browser: httpx.Client) -> None:
    script = browser.get("/main-ABCD1234.js")
    assert script.text == SCRIPT
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.headers["content-type"].split(";")[0] in ("text/javascript", "application/javascript")
    assert browser.get("/icons/logo.svg").headers["cache-control"] == "no-cache"
    assert browser.get("/icons/logo.svg").headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize(
    ("offered", "packed"), [("gzip, br", True), ("*", True), ("br", False), ("", False), ("gzip; q=0", False)]
)
def test_files_are_compressed_if_accepted(browser: httpx.Client, offered: str, packed: bool) -> None:
    with browser.stream("GET", "/main-ABCD1234.js", headers={"Accept-Encoding": offered}) as answer:
        content = b"".join(answer.iter_raw())
    assert answer.headers["vary"] == "Accept-Encoding"
    assert ("content-encoding" in answer.headers) == packed
    assert (gzip.decompress(content) if packed else content).decode() == SCRIPT


@pytest.mark.parametrize("path", ["/api/tables", "/nothing.js", "/icons/", "/icons/../index.html", "/.stamp"])
def test_nothing_else_is_open(browser: httpx.Client, path: str) -> None:
    assert browser.get(path).status_code == 401


def test_only_get_is_open(browser: httpx.Client) -> None:
    assert browser.post("/").status_code == 401


def test_a_page_that_is_not_built_is_an_error(
    serve: Serve, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "FILES", tmp_path)
    with httpx.Client(base_url=serve(catalog).url) as client:
        answer = client.get("/")
    assert (answer.status_code, answer.text) == (503, NOT_BUILT)


@pytest.mark.usefixtures("built")
def test_other_sites_may_link_to_it(serve: Serve, catalog: Catalog) -> None:
    """No token is needed; data cannot be reached that way."""
    server = serve(catalog)
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with httpx.Client(base_url=server.url, headers=headers) as browser:
        statuses = [browser.get(path).status_code for path in ("/", "/main-ABCD1234.js", "/api/tables")]
    assert statuses == [200, 200, 403]
