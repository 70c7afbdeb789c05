"""docs/PROTOCOL.md agrees with the code."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

import pytest
from tests.markdown import ROOT, table

from evertable import __version__
from evertable.errors import FilterError, NothingBeforeError, NotReadyError, RequestError
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.protocol.frames import (
    MAX_FRAME_BYTES,
    SUBPROTOCOL,
    ChangeView,
    CloseCode,
    Limits,
    Ping,
    Request,
    Subscribe,
    Unsubscribe,
    encode,
    parse,
)
from evertable.protocol.page import PageRows, page_tail
from evertable.protocol.patch import Patch, patch_tail
from evertable.protocol.values import MAX_TEXT
from evertable.schema.columns import Column, ColumnType, Kind
from evertable.views.view import MAX_FILTER_CHARS, View

DOCUMENT = (ROOT / "docs" / "PROTOCOL.md").read_text()


def section(title: str) -> str:
    return re.split(r"^##+ ", DOCUMENT.split(f"## {title}", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def examples() -> dict[str, dict[str, Any]]:
    """Returns every frame of the document, by its type."""
    found: dict[str, dict[str, Any]] = {}
    decoder = json.JSONDecoder()
    for block in re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL):
        text = block.strip()
        while text:
            frame, end = decoder.raw_decode(text)
            found[frame["type"]] = frame
            text = text[end:].strip()
    return found


REQUESTS: dict[str, Request] = {
    "subscribe": Subscribe(
        "a", "final_ui", 1, View(("name", "balance"), ("-balance", "name"), "balance > 100", 0, 100, False)
    ),
    "view": ChangeView("a", 2, View(sort=("name",))),
    "unsubscribe": Unsubscribe("a"),
    "ping": Ping(7),
}

COLUMNS = (Column("name", ColumnType(Kind.STRING)), Column("balance", ColumnType(Kind.DOUBLE)))
ROWS = PageRows.of([0, 1], [("Ada", 120.5), ("Bob", None)]).json
PATCH = Patch([(0, 0, [("Eve", 300.0)]), (2, 1, [])], [(1, 1, 121.0)])
ANSWERS: dict[str, bytes] = {
    "welcome": answers.welcome(__version__, Limits()),
    "pong": answers.pong(7),
    "page": answers.prefix("page", "a", 1) + page_tail("final_ui", Stamp(5, 1042, 3), 2, 0, COLUMNS, ROWS),
    "patch": answers.prefix("patch", "a", 1) + patch_tail(Stamp(5, 1043, 3), 3, 0, PATCH),
    "total": answers.prefix("total", "a", 1) + answers.total_tail(Stamp(5, 1044, 3), 4),
    "waiting": answers.waiting("a", 1, "final_ui"),
    "error": answers.error("a", 2, FilterError("expected a value after '>', found the end", 9)),
}


def test_every_frame_has_an_example() -> None:
    assert set(examples()) == set(REQUESTS) | set(ANSWERS)


@pytest.mark.parametrize("kind", REQUESTS)
def test_requests_are_parsed_as_documented(kind: str) -> None:
    assert parse(json.dumps(examples()[kind])) == REQUESTS[kind]


@pytest.mark.parametrize("kind", REQUESTS)
def test_requests_are_written_as_documented(kind: str) -> None:
    """A client writes all fields, so that the defaults in the document are compared, too."""
    shown, written = examples()[kind], json.loads(encode(REQUESTS[kind]))
    assert {**written, "view": {}} == {**shown, "view": {}} if "view" in shown else written == shown
    assert shown.get("view", {}).items() <= written.get("view", {}).items()


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_are_written_as_documented(kind: str) -> None:
    assert json.loads(ANSWERS[kind]) == examples()[kind]
    assert list(json.loads(ANSWERS[kind])) == list(examples()[kind])


def test_close_codes() -> None:
    documented = {int(code): name.strip("`") for code, name, _ in table(DOCUMENT, "## Close codes\n")}
    assert set(documented) == set(CloseCode)
    assert all(CloseCode(code).name == name for code, name in documented.items() if name)


def test_conditions() -> None:
    """They are the errors of requests, except those that are ``waiting`` frames or only occur over HTTP."""
    documented = {condition.strip("`") for condition, _ in table(DOCUMENT, "## Errors\n")}
    elsewhere = {NotReadyError.condition, NothingBeforeError.condition}
    own = {error.condition for error in RequestError.__subclasses__() if error.__module__ == RequestError.__module__}
    assert documented == own - elsewhere


def test_limits() -> None:
    documented = {name: int(default.replace(",", "")) for name, _, default in table(DOCUMENT, "## Limits\n")}
    assert documented["rows in a page"] == Limits().page
    assert documented["subscriptions on a socket"] == Limits().subscriptions
    assert documented["bytes in a client's frame"] == MAX_FRAME_BYTES
    assert documented["characters in a filter"] == MAX_FILTER_CHARS
    assert documented["characters of a text in a page"] == MAX_TEXT
    assert examples()["welcome"]["limits"] == asdict(Limits())


def test_the_subprotocol() -> None:
    assert DOCUMENT.startswith(f"# The protocol of live tables: `{SUBPROTOCOL}`\n")


def test_every_column_type_has_its_json() -> None:
    named = {kind for kinds, *_ in table(DOCUMENT, "## Values\n") for kind in re.findall(r"`(\w+)", kinds)}
    assert named == set(Kind)
