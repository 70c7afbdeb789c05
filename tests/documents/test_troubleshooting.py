"""Every condition is documented, in docs/TROUBLESHOOTING.md or on a page that it names."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.markdown import ROOT, table

from evertable import errors
from evertable.client import errors as client_errors
from evertable.control.messages import Condition
from evertable.engine import failures
from evertable.server import refusals
from evertable.server.metrics import METRICS
from evertable.tables.generation import TOO_MANY_MATCHES

SOURCES = ROOT / "src" / "evertable"
DOCS = ROOT / "docs"
PAGE = (DOCS / "TROUBLESHOOTING.md").read_text()

START = "Errors of commands and of the server's start"
DEAD_LETTERS = "Reasons in dead_letters"
QUERIES = "Failures of queries"
CLIENTS = "Errors of clients"


def read(folder: Path, ending: str) -> str:
    paths = [path for path in folder.rglob(f"*{ending}") if ".spec." not in path.name]
    return "\n".join(path.read_text() for path in paths)


def conditions(cell: str) -> list[str]:
    return re.findall(r"`([A-Z][A-Z0-9_]+)`", cell)


def own(module: object) -> dict[str, type[errors.EvertableError]]:
    """Returns the errors that a module defines, by condition."""
    found = [
        each for each in vars(module).values() if isinstance(each, type) and issubclass(each, errors.EvertableError)
    ]
    return {each.condition: each for each in found if each.__module__ == getattr(module, "__name__")}  # noqa: B009


REQUESTS = {name for name, kind in own(errors).items() if issubclass(kind, errors.RequestError)}
REFUSED = set(re.findall(r'Refusal\(\s*\d+, "(\w+)"', read(SOURCES / "server", ".py")))
SWAPS = {f"SWAP_{result.upper()}" for result in client_errors._SWAPS}
IN_BROWSERS = set(re.findall(r"condition: '([A-Z_]+)'|again\('([A-Z_]+)'", read(ROOT / "web/client/src", ".ts")))
ASKED = set(re.findall(r"\? '([A-Z]+_[A-Z]+)' : '([A-Z]+_[A-Z]+)'", read(ROOT / "web/client/src", ".ts")))
BY_CLIENTS = {name for pair in IN_BROWSERS | ASKED for name in pair if name}
REJECTED = set(re.findall(r'"([A-Z]+[0-9A-Z]*(?:_[A-Z0-9]+)+|TOMBSTONE)"', read(ROOT / "jvm", ".java")))

CONTROL = {condition.value for condition in Condition}
SERVER = REQUESTS | REFUSED | {name for name, _ in refusals.ROUTING.values()} | refusals.STATUSES.keys()
TEMPORARY = failures._TEMPORARY.keys() | {failures.classify("").condition}
WANTED: dict[str, set[str]] = {
    START: own(errors).keys() - REQUESTS,
    DEAD_LETTERS: REJECTED | {TOO_MANY_MATCHES},
    QUERIES: set(failures._FINAL),
    CLIENTS: own(client_errors).keys() | SWAPS | {"ACCESS_DENIED"} | (BY_CLIENTS - REFUSED),
}
KNOWN = {condition for conditions in WANTED.values() for condition in conditions} | CONTROL | SERVER


@pytest.mark.parametrize("title", WANTED)
def test_every_condition_has_an_entry_and_no_entry_is_unknown(title: str) -> None:
    entries = Counter(name for row in table(PAGE, f"### {title}\n") for name in conditions(row[0]))
    assert set(entries) == WANTED[title]
    assert max(entries.values()) == 1


def test_every_refusal_of_the_server_has_an_entry() -> None:
    """The tables are on the pages that the troubleshooting page names."""
    sections = (("SERVER.md", "## Refusals"), ("PROTOCOL.md", "## Errors"), ("PROTOCOL.md", "## Connecting"))
    rows = [row for page, title in sections for row in table((DOCS / page).read_text(), f"{title}\n")]
    assert {name for row in rows for cell in row[:2] for name in conditions(cell)} == SERVER


def test_temporary_failures_of_queries_are_errors_with_an_entry() -> None:
    assert WANTED[START] >= TEMPORARY


def test_no_condition_is_forgotten() -> None:
    """Anything that the code calls a condition counts."""
    code = read(SOURCES, ".py")
    named = set(re.findall(r'condition(?:: \w+(?:\[\w+\])?)? = "([A-Z_]+)"', code))
    named |= set(re.findall(r'(?:Error|Refusal|Failure)\(\s*(?:\d+, )?"([A-Z]+(?:_[A-Z]+)+)"', code))
    assert named
    assert named - KNOWN == set()


def test_the_patterns_find_conditions() -> None:
    """An outdated pattern would find nothing, and test nothing."""
    assert {"TOKEN_WRONG", "SERVER_BUSY", "INTERNAL_ERROR", "CONTROL_DISABLED"} <= REFUSED
    assert {"SERVER_RESTARTS", "SOCKET_REFUSED", "ACCESS_DENIED", "SERVER_ANSWER"} <= BY_CLIENTS
    assert {"WRONG_TYPE", "TOMBSTONE", "INVALID_UTF8", "ID_OUT_OF_RANGE"} <= REJECTED


@pytest.mark.parametrize("title", WANTED)
def test_every_entry_has_a_meaning_and_a_remedy(title: str) -> None:
    assert [row[0] for row in table(PAGE, f"### {title}\n") if not all(row) or len(row[-1]) < 5] == []


def test_conditions_in_the_text_are_known() -> None:
    """So are those in the list of symptoms."""
    named = set(re.findall(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`", PAGE))
    variables = {name for name in named if name.startswith("EVERTABLE_") and name != "EVERTABLE_ERROR"} | {"JAVA_HOME"}
    assert named - KNOWN - variables == set()
    code = read(SOURCES, ".py")
    assert [name for name in variables if f'"{name}"' not in code] == []


def test_metrics_that_are_named_exist() -> None:
    assert set(re.findall(r"`(evertable_\w+)`", PAGE)) <= {metric.name for metric in METRICS}
