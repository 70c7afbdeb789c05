"""Valid and invalid requests, generated from the server's OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from tests.live.samples import settings as server_settings
from tests.live.samples import table
from tests.server.stubs import accept, roll_back, topics
from tests.server_thread import ServerThread

from evertable.schema.columns import parse_columns
from evertable.server.app import App
from evertable.server.operations import openapi_document
from evertable.tables.catalog import Catalog

EXAMPLES = 40  # for each address
TYPES = {
    "userId": "string",
    "age": "long",
    "score": "double",
    "money": "decimal(10,2)",
    "at": "timestamp",
    "doc": "json",
}


def flow() -> Mapping[str, Any]:
    return {
        "flow": {"rows_per_s": 0.5, "data_age_s": 1.0, "lag": 3},
        "build": {"generation": 4, "fraction": 0.5, "rows": 10},
    }


@pytest.fixture(scope="module")
def server() -> Iterator[ServerThread[App]]:
    catalog = Catalog([], {"users": table(parse_columns(TYPES), [("u1", 36, 0.5, None, None, "{}")])})
    chosen = server_settings()
    app = App(catalog, chosen, control=accept, rollback=roll_back, topics=topics, status=flow)
    with ServerThread(app, chosen) as running:
        yield running


def narrowed() -> dict[str, Any]:
    """Returns the description, with names and filters of the test's table instead of any text."""
    whole = openapi_document()
    parameters = whole["components"]["parameters"]
    parameters["name"]["schema"]["enum"] = ["users"]
    parameters["columns"]["schema"]["items"]["enum"] = ["", *TYPES]  # an empty one counts as not given
    parameters["sort"]["schema"]["items"]["enum"] = ["", *TYPES, *(f"-{name}" for name in TYPES)]
    parameters["filter"]["schema"]["enum"] = ["", "age > 3 and userId contains 'u'", "money is null or score < 1e3"]
    return whole


schema = schemathesis.openapi.from_dict(narrowed())


@schema.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case: Case[Any], server: ServerThread[App]) -> None:
    """No response is a 500; each has a described status, type and body; only invalid requests are refused."""
    case.call_and_validate(base_url=server.url, timeout=30)
