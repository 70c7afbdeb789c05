"""docs/SERVER.md agrees with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.markdown import ROOT, table
from tests.server.conftest import api_routes

from evertable import errors
from evertable.server import (
    downloads,
    listen,
    middleware,
    refusals,
    requests,
    rest,
    run,
    uvicorn_internals,
)
from evertable.server.exports import ARROW, CSV
from evertable.server.metrics import METRICS
from evertable.server.requests import PAGE
from evertable.tables.catalog import Catalog

PAGE_TEXT = (ROOT / "docs" / "SERVER.md").read_text()
SOURCES = Path(run.__file__).parent


def test_addresses(catalog: Catalog) -> None:
    """Every route is listed with its method."""
    there = {f"`{method} {path}`" for method, path in api_routes(catalog)}
    assert there == {address for address, _ in table(PAGE_TEXT, "## Addresses\n")}


def test_parameters() -> None:
    """All parameters are listed, with those of exports."""
    rows = table(PAGE_TEXT, "The parameters of rows and exports:\n")
    assert tuple(name.strip("`") for name, *_ in rows) == (*PAGE, "formulas")
    assert tuple(name.strip("`") for name, _, exports, _ in rows if exports == "yes") == ARROW.parameters
    assert tuple(name.strip("`") for name, _, exports, _ in rows if exports != "no") == CSV.parameters


def test_metrics() -> None:
    """Each is listed with kind, labels and meaning."""
    expected = [
        [f"`{m.name}`", m.type.value, ", ".join(f"`{label}`" for label in m.labels), m.meaning] for m in METRICS
    ]
    assert expected == table(PAGE_TEXT, "## Metrics\n")


def test_conditions() -> None:
    """Every condition of a refusal is listed with its status."""
    listed = {
        (status, name)
        for status, names, _ in table(PAGE_TEXT, "## Refusals\n")
        for name in re.findall(r"`(\w+)`", names)
    }
    sources = "".join(path.read_text() for path in SOURCES.glob("*.py"))
    raised = set(re.findall(r"Refusal\(\s*(\d+), \"(\w+)\"", sources))
    raised |= {(str(status), name) for status, (name, _) in refusals.ROUTING.items()}
    of_sockets = {("400", f"SUBPROTOCOL_{what}") for what in ("MISSING", "INVALID")}
    of_sockets |= {("400", "HANDSHAKE_INVALID"), ("503", "TOO_MANY_SOCKETS")}
    assert raised - of_sockets <= listed
    known = sources + Path(errors.__file__).read_text()
    assert [name for _, name in listed if f'"{name}"' not in known] == []


@pytest.mark.parametrize(
    "limit",
    [
        f"{run.MAX_HEAD_BYTES:,} bytes in a request's head and in its body",
        f"{requests.MAX_BODY:,} bytes in a request's head and in its body",
        f"within {uvicorn_internals.HEAD_S:.0f} s and {requests.BODY_TIMEOUT_S} s",
        f"{downloads.MAX_DOWNLOADS} downloads at once",
        f"each aborted after {downloads.STALLED_S} s",
        f"{rest.MAX_WAITING} requests of one address",
        f"{run.GRACE_S} s for requests under way",
    ],
)
def test_limits(limit: str) -> None:
    """The numbers of the page are those of the code."""
    assert limit in PAGE_TEXT


def test_headers() -> None:
    """All headers of the page are set."""
    for name in (
        "Cross-Origin-Opener-Policy",
        "Permissions-Policy",
        "X-Frame-Options",
        "Referrer-Policy",
        "Content-Security-Policy",
    ):
        assert f"`{name}" in PAGE_TEXT
        assert name in middleware.HEADERS
    assert (listen.BACKLOG, f"{requests.BODY_TIMEOUT_S} s" in PAGE_TEXT) == (2048, True)
