"""The OpenAPI description is complete and correct."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.live.samples import table
from tests.server.conftest import Serve, api_routes
from tests.server.schemas import problems, resolved
from tests.server.stubs import accept, roll_back, topics

from evertable import __version__
from evertable.server.exports import ARROW, CSV
from evertable.server.operations import openapi_document
from evertable.server.requests import PAGE
from evertable.tables.catalog import Catalog
from evertable.views.view import MAX_INTEGER

WHOLE = openapi_document()


def test_every_route_is_described_and_every_description_has_its_route(catalog: Catalog) -> None:
    """Its methods are, too, except HEAD."""
    described = {(method.upper(), path) for path, methods in WHOLE["paths"].items() for method in methods}
    assert api_routes(catalog) == described


def test_parameters() -> None:
    """All parameters of the server, and no others."""
    for path, known in [
        ("/api/tables/{name}/rows", PAGE),
        ("/api/tables/{name}.csv", CSV.parameters),
        ("/api/tables/{name}.arrow", ARROW.parameters),
    ]:
        listed = [
            resolved(one["$ref"], WHOLE) if "$ref" in one else one for one in WHOLE["paths"][path]["get"]["parameters"]
        ]
        assert {one["name"] for one in listed if one["in"] == "query"} == set(known)


def test_it_is_served(client: httpx.Client) -> None:
    """It is JSON with the server's version; every reference can be resolved."""
    served = client.get("/openapi.json").json()
    assert (served, served["info"]["version"]) == (WHOLE, __version__)
    references = list(_references(served))
    assert len(references) > 20
    assert all(resolved(reference, served) for reference in references)


def test_limits_are_those_of_the_server(serve: Serve, catalog: Catalog) -> None:
    """The maximum of the description is accepted, and one more is refused."""
    with httpx.Client(base_url=serve(catalog, {"max_page": 7}).url) as client:
        served = client.get("/openapi.json").json()["paths"]["/api/tables/{name}/rows"]["get"]["parameters"]
        most = {one["name"]: one["schema"]["maximum"] for one in served if one.get("name") in ("limit", "offset")}
        assert most == {"limit": 7, "offset": MAX_INTEGER}
        for name, value in most.items():
            statuses = [
                client.get("/api/tables/users_ui/rows", params={name: asked}).status_code
                for asked in (value, value + 1)
            ]
            assert statuses == [200, 400]


def _references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [found for item in part for found in _references(item)]
    if not isinstance(part, dict):
        return []
    own = [part["$ref"]] if "$ref" in part else []
    return own + [found for item in part.values() for found in _references(item)]


@pytest.mark.parametrize(
    ("method", "address", "path"),
    [
        ("GET", "/api/tables", "/api/tables"),
        ("GET", "/api/tables/users_ui", "/api/tables/{name}"),
        ("GET", "/api/tables/nope", "/api/tables/{name}"),
        ("GET", "/api/tables/later", "/api/tables/{name}"),
        ("GET", "/api/tables/users_ui/rows?sort=-age", "/api/tables/{name}/rows"),
        ("GET", "/api/tables/users_ui/rows?filter=(", "/api/tables/{name}/rows"),
        ("GET", "/api/tables/users_ui.csv?x", "/api/tables/{name}.csv"),
        ("GET", "/api/status", "/api/status"),
        ("GET", "/api/topics", "/api/topics"),
        ("POST", "/api/control", "/api/control"),
        ("POST", "/api/rollback", "/api/rollback"),
        ("GET", "/healthz", "/healthz"),
        ("GET", "/readyz", "/readyz"),
        ("GET", "/openapi.json", "/openapi.json"),
    ],
)
def test_answers(serve: Serve, method: str, address: str, path: str) -> None:
    """Responses of all kinds, refusals included, match the description."""
    catalog = Catalog(["later"], {"users_ui": table()})
    with httpx.Client(base_url=serve(catalog, control=accept, rollback=roll_back, topics=topics).url) as client:
        answer = client.request(method, address, json={} if method == "POST" else None)
    responses = WHOLE["paths"][path][method.lower()]["responses"]
    described = responses.get(str(answer.status_code)) or responses["default"]
    described = resolved(described["$ref"], WHOLE) if "$ref" in described else described
    assert list(problems(answer.json(), described["content"]["application/json"]["schema"], WHOLE)) == []
