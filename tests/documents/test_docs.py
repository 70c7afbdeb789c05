"""Links in documents have targets, every document is linked, and blocks of data can be parsed."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from tests.markdown import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^ *(```+|~~~+) *([\w+-]*)[^\n]*\n(.*?)^ *\1 *$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+).+?\1")
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?: +\"[^\"]*\")?\)")
_TITLE = re.compile(r"^#{1,6} +(.+?)(?: +#+)? *$", re.MULTILINE)


def prose(text: str) -> str:
    """Returns the document without its blocks of code."""
    return _FENCE.sub("", text)


def links(text: str) -> list[str]:
    """Returns the targets of links and pictures."""
    return _LINK.findall(_CODE.sub("", prose(text)))


def anchors(text: str) -> set[str]:
    """Returns the anchors of titles as GitHub makes them: lower case, no punctuation, equal ones numbered."""
    seen: Counter[str] = Counter()
    made = set()
    for title in _TITLE.findall(prose(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        made.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return made


def blocks(kind: str) -> list[tuple[str, int, str]]:
    """Returns document, line and text of each block of that language."""
    return [
        (document.name, text[: found.start()].count("\n") + 1, found[3])
        for document in DOCUMENTS
        for text in [document.read_text()]
        for found in _FENCE.finditer(text)
        if found[2] == kind
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_has_a_target(document: Path) -> None:
    """Links to other sites are not followed."""
    lost = []
    for link in links(document.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / unquote(path)).resolve() if path else document
        there = target.exists() and target.is_relative_to(ROOT)
        if not there or (anchor and anchor not in anchors(target.read_text())):
            lost.append(link)
    assert lost == []


def test_every_document_is_linked_from_the_readme() -> None:
    linked = {link.partition("#")[0] for link in links((ROOT / "README.md").read_text())}
    assert {str(path.relative_to(ROOT)) for path in DOCUMENTS[1:]} - linked == set()


@pytest.mark.parametrize("block", blocks("json"), ids=lambda block: f"{block[0]}:{block[1]}")
def test_json_can_be_parsed(block: tuple[str, int, str]) -> None:
    """The block is one document, or has several frames, one per line."""
    try:
        json.loads(block[2])
    except json.JSONDecodeError:
        assert [json.loads(line) for line in block[2].splitlines()]


@pytest.mark.parametrize("block", [*blocks("yaml"), *blocks("yml")], ids=lambda block: f"{block[0]}:{block[1]}")
def test_yaml_can_be_parsed(block: tuple[str, int, str]) -> None:
    assert yaml.safe_load(block[2]) is not None


def test_anchors_are_made_as_github_makes_them() -> None:
    titles = (
        "# Who may ask?\n\n## `server.tls`\n\n## A generation's life\n\n## [Links](x.md) & more\n\n## Who may ask?\n"
    )
    assert anchors(titles) == {"who-may-ask", "servertls", "a-generations-life", "links--more", "who-may-ask-1"}


def test_links_in_code_are_ignored() -> None:
    text = "[a](b.md) `[c](d.md)`\n\n```\n[e](f.md)\n# no title\n```\n\n![g](h.png)\n"
    assert (links(text), anchors(text)) == (["b.md", "h.png"], set())
