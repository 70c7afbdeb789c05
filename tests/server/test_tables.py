"""``/api/tables``: the names, their columns, and pages of rows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.live.samples import PEOPLE, settings, table
from tests.server.conftest import Serve
from tests.server_thread import ServerThread

from evertable.schema.columns import parse_columns
from evertable.server import rest
from evertable.server.app import App
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog

NONE = "There is no table 'nope'; there are users_ui."
COLUMNS = [{"name": "userId", "type": "string"}, {"name": "name", "type": "string"}, {"name": "age", "type": "long"}]


def rows(client: httpx.Client, name: str = "users_ui", **parameters: Any) -> list[list[Any]]:
    answer = client.get(f"/api/tables/{quote(name, safe='')}/rows", params=parameters)
    assert answer.status_code == 200, answer.text
    read: list[list[Any]] = answer.json()["rows"]
    return read


def refusal(client: httpx.Client, address: str) -> tuple[int, str, str]:
    answer = client.get(address)
    assert answer.headers["content-type"] == "application/json"
    return answer.status_code, answer.json()["condition"], answer.json()["message"]


@pytest.fixture(scope="module")
def reader() -> Iterator[httpx.Client]:
    """Returns a client of one server for all tests that only read."""
    catalog, chosen = Catalog(["users_ui"]), settings()
    catalog.publish(3, {"users_ui": table()})
    with ServerThread(App(catalog, chosen), chosen) as server, httpx.Client(base_url=server.url) as made:
        yield made


def test_the_list(serve: Serve) -> None:
    """Every public name, with or without a table."""
    catalog = Catalog(["users_ui"], {"generations": table(rows=[])})
    catalog.count_from(7)
    with httpx.Client(base_url=serve(catalog).url) as client:
        before = {"name": "users_ui", "ready": False, "generation": 0, "publication": 7, "version": None, "total": None}
        fixed = {"name": "generations", "ready": True, "generation": 0, "publication": 7, "version": 0, "total": 0}
        assert client.get("/api/tables").json() == {"tables": [before, fixed]}
        catalog.publish(3, {"users_ui": table()})
        after = {"name": "users_ui", "ready": True, "generation": 3, "publication": 8, "version": 1, "total": 3}
        assert client.get("/api/tables").json()["tables"][0] == after


def test_one_table(reader: httpx.Client) -> None:
    """One name, with its columns."""
    stand = {"name": "users_ui", "ready": True, "generation": 3, "publication": 1, "version": 1, "total": 3}
    assert reader.get("/api/tables/users_ui").json() == {**stand, "columns": COLUMNS}


def test_a_page(reader: httpx.Client) -> None:
    """The first hundred rows in order of arrival, all columns."""
    expected = {
        "table": "users_ui",
        "generation": 3,
        "publication": 1,
        "version": 1,
        "total": 3,
        "offset": 0,
        "columns": COLUMNS,
        "rows": [list(row) for row in PEOPLE],
    }
    answer = reader.get("/api/tables/users_ui/rows")
    assert (answer.headers["content-type"], answer.json()) == ("application/json", expected)


@pytest.mark.parametrize(
    ("parameters", "ids"),
    [
        ({}, "123"),
        ({"limit": 2}, "12"),
        ({"offset": 1, "limit": 1}, "2"),
        ({"offset": 3}, ""),
        ({"offset": 2**53 - 1}, ""),
        ({"limit": 0}, ""),
        ({"newestFirst": "true"}, "321"),
        ({"newestFirst": "true", "offset": 1, "limit": 1}, "2"),
        ({"newestFirst": "true", "offset": 9}, ""),
        ({"newestFirst": "false"}, "123"),
        ({"sort": "-age"}, "312"),
        ({"sort": "age"}, "132"),
        ({"sort": "-age", "offset": 1, "limit": 1}, "1"),
        ({"sort": "name,-age"}, "123"),
        ({"sort": "-name"}, "321"),
        ({"filter": "age > 36"}, "3"),
        ({"filter": "age > 1", "sort": "-age", "limit": 1}, "3"),
        ({"columns": "", "sort": "", "filter": "", "offset": "", "limit": ""}, "123"),
    ],
)
def test_which_rows(reader: httpx.Client, parameters: dict[str, Any], ids: str) -> None:
    """Offset, limit, sort, filter and direction; empty ones are ignored."""
    assert [row[0] for row in rows(reader, **parameters)] == [f"u{number}" for number in ids]


def test_the_total_is_before_offset_and_limit(reader: httpx.Client) -> None:
    """It is after the filter."""
    answer = reader.get("/api/tables/users_ui/rows", params={"filter": "age > 1", "offset": 1, "limit": 1}).json()
    assert (answer["total"], answer["offset"], len(answer["rows"])) == (2, 1, 1)


def test_columns(reader: httpx.Client) -> None:
    """They have the requested order, and are separated by commas or repeated."""
    for address in ("columns=age,userId", "columns=age&columns=userId", "columns=age,age&columns=userId,age"):
        answer = reader.get(f"/api/tables/users_ui/rows?{address}&limit=1").json()
        assert ([column["name"] for column in answer["columns"]], answer["rows"]) == (["age", "userId"], [[36, "u1"]])


@pytest.fixture
def odd(serve: Serve) -> Iterator[httpx.Client]:
    """Serves tables and columns with names that need encoding."""
    columns = parse_columns({"a,b": "string", "a": "string", "-a": "long", "ü&=#?%/": "string"})
    names = ["ünï çödé 漢字", "a b?c#d%e&f=g;h+i", "x.csv.y", "%2F", "'; drop table", "rows"]
    catalog = Catalog(names)
    catalog.publish(1, {name: table(columns, [("x", name, 2, "z"), ("w", "y", 1, None)]) for name in names})
    with httpx.Client(base_url=serve(catalog).url) as made:
        yield made


def test_odd_names(odd: httpx.Client) -> None:
    """Each has a percent-encoded address."""
    listed = [one["name"] for one in odd.get("/api/tables").json()["tables"]]
    assert len(listed) == 6
    for name in listed:
        address = f"/api/tables/{quote(name, safe='')}"
        assert odd.get(address).json()["name"] == name
        assert rows(odd, name)[0] == ["x", name, 2, "z"]
        answer = odd.get(f"{address}.csv")
        assert (answer.status_code, name in answer.text) == (200, True)
        assert f"filename*=UTF-8''{quote(name, safe='')}.csv" in answer.headers["content-disposition"]
        assert odd.get(f"{address}.arrow").status_code == 200


def test_odd_columns(odd: httpx.Client) -> None:
    """A column with a comma or a leading minus is found by its exact name."""
    assert rows(odd, "rows", columns=["a,b", "ü&=#?%/"]) == [["x", "z"], ["w", None]]
    assert rows(odd, "rows", columns="a,b") == [["x"], ["w"]]
    assert rows(odd, "rows", columns="a,-a") == [["rows", 2], ["y", 1]]
    assert rows(odd, "rows", columns="-a", sort="-a") == [[1], [2]]
    assert rows(odd, "rows", columns="-a", sort="--a") == [[2], [1]]
    assert rows(odd, "rows", columns="-a", sort="-a,b") == [[2], [1]]
    assert rows(odd, "rows", columns="-a", sort=["-a,b", "a"]) == [[2], [1]]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/api/tables/nope", (404, "TABLE_NOT_FOUND", NONE)),
        ("/api/tables/nope/rows", (404, "TABLE_NOT_FOUND", NONE)),
        ("/api/tables/nope.csv", (404, "TABLE_NOT_FOUND", NONE)),
        ("/api/tables/nope.arrow?sort=x", (404, "TABLE_NOT_FOUND", NONE)),
        ("/api/tables/users_ui/rows?limit=10001", (400, "PAGE_TOO_LARGE", "A page has at most 10000 rows, not 10001.")),
        ("/api/tables/users_ui/rows?limit=9007199254740991", (400, "PAGE_TOO_LARGE", "A page has at most 10000 rows")),
        ("/api/tables/users_ui/rows?limit=1e3", (400, "PARAMETER_INVALID", "The parameter 'limit' is not an integer")),
        ("/api/tables/users_ui/rows?limit=-1", (400, "PARAMETER_INVALID", "The parameter 'limit' is not an integer")),
        ("/api/tables/users_ui/rows?limit=٣", (400, "PARAMETER_INVALID", "The parameter 'limit' is not an integer")),
        ("/api/tables/users_ui/rows?offset=9007199254740992", (400, "PARAMETER_INVALID", "The parameter 'offset' is")),
        ("/api/tables/users_ui/rows?offset=" + "9" * 5000, (400, "PARAMETER_INVALID", "The parameter 'offset' is")),
        ("/api/tables/users_ui/rows?newestFirst=yes", (400, "PARAMETER_INVALID", "The parameter 'newestFirst' has")),
        (
            "/api/tables/users_ui/rows?limit=1&limit=2",
            (400, "PARAMETER_INVALID", "The parameter 'limit' is given twice"),
        ),
        (
            "/api/tables/users_ui/rows?sorted=x",
            (400, "PARAMETER_INVALID", "There is no parameter 'sorted'; did"),
        ),
        ("/api/tables/users_ui?x=1", (400, "PARAMETER_INVALID", "There is no parameter 'x'; this address takes none")),
        ("/api/tables/users_ui.csv?limit=1", (400, "PARAMETER_INVALID", "There is no parameter 'limit'; known are")),
        (
            "/api/tables/users_ui/rows?columns=nam",
            (400, "COLUMN_NOT_FOUND", "There is no column 'nam' to show; did"),
        ),
        ("/api/tables/users_ui.csv?columns=x", (400, "COLUMN_NOT_FOUND", "There is no column 'x' to show")),
        ("/api/tables/users_ui/rows?sort=-nam", (400, "COLUMN_NOT_FOUND", "There is no column 'nam' to sort by; did")),
        ("/api/tables/users_ui/rows?filter=age+%3E+'x'", (400, "FILTER_INVALID", "")),
        ("/api/tables/users_ui.csv?filter=(", (400, "FILTER_INVALID", "")),
        ("/api/tables/users_ui/rows?filter=" + "x" * 2001, (400, "FILTER_TOO_LONG", "")),
        ("/api/tables/users_ui/rows?filter=" + "漢" * 2001, (400, "FILTER_TOO_LONG", "")),
        (
            "/api/tables/",
            (404, "NOT_FOUND", "This address does not exist. GET /openapi.json lists"),
        ),
        ("/api/tables/a%2Fb", (404, "NOT_FOUND", "This address does not exist")),
        ("/api/tables/.csv", (404, "TABLE_NOT_FOUND", "There is no table '.csv'")),
        ("/nothing", (404, "NOT_FOUND", "This address does not exist")),
    ],
)
def test_refusals(reader: httpx.Client, address: str, expected: tuple[int, str, str]) -> None:
    """They have a status, a condition and a helpful sentence."""
    status, condition, message = refusal(reader, address)
    assert (status, condition, message[: len(expected[2])]) == expected


def test_a_filter_error_has_its_position(reader: httpx.Client) -> None:
    """It counts characters, from 0."""
    answer = reader.get("/api/tables/users_ui/rows", params={"filter": "name = 'Ä' and nam = 1"}).json()
    assert (answer["condition"], answer["position"]) == ("FILTER_INVALID", 15)


def test_before_the_first_generation(serve: Serve) -> None:
    """The name is known, and the response has a retry time."""
    with httpx.Client(base_url=serve(Catalog(["users_ui"])).url) as client:
        for address in ("", "/rows", ".csv", ".arrow"):
            answer = client.get(f"/api/tables/users_ui{address}")
            assert (answer.status_code, answer.json()["condition"]) == (503, "NOT_READY")
            assert answer.headers["retry-after"] == "2"


def test_other_methods(reader: httpx.Client) -> None:
    """They are refused with the list of allowed ones; HEAD is GET without a body."""
    answer = reader.post("/api/tables")
    assert (answer.status_code, answer.json()["condition"]) == (405, "METHOD_NOT_ALLOWED")
    assert sorted(answer.headers["allow"].split(", ")) == ["GET", "HEAD"]
    for path in ("/api/tables", "/api/tables/users_ui.csv", "/api/tables/users_ui.arrow"):
        assert (reader.head(path).status_code, reader.head(path).content) == (200, b"")


def test_a_smaller_page_limit(serve: Serve, catalog: Catalog) -> None:
    """It applies without a limit in the request, too."""
    with httpx.Client(base_url=serve(catalog, {"max_page": 2}).url) as client:
        assert len(rows(client)) == 2
        assert refusal(client, "/api/tables/users_ui/rows?limit=3")[1] == "PAGE_TOO_LARGE"


def test_after_a_swap(client: httpx.Client, catalog: Catalog) -> None:
    """The same name shows the new generation's table, other columns included."""
    columns = parse_columns({"id": "long", "paid": "decimal(10,2)"})
    catalog.publish(4, {"users_ui": table(columns, [(2**60, Decimal("1.50"))])})
    answer = client.get("/api/tables/users_ui/rows").json()
    assert (answer["generation"], answer["publication"], answer["rows"]) == (4, 2, [[str(2**60), "1.50"]])


def test_tables_that_forget_their_oldest_rows(serve: Serve) -> None:
    """Offsets count from the oldest existing row."""
    kept = BoundedTable(parse_columns({"n": "long"}), limit=3)
    kept.append([(number,) for number in range(10)])
    with httpx.Client(base_url=serve(Catalog([], {"logs": kept})).url) as client:
        assert rows(client, "logs") == [[7], [8], [9]]
        assert rows(client, "logs", offset=1, limit=1) == [[8]]
        assert rows(client, "logs", newestFirst="true", limit=2) == [[9], [8]]
        assert rows(client, "logs", sort="-n", offset=2) == [[7]]


def test_a_full_queue(serve: Serve, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further requests are refused with a retry time; health checks are not queued."""
    monkeypatch.setattr(rest, "MAX_WAITING", 0)
    with httpx.Client(base_url=serve(catalog).url) as client:
        answer = client.get("/api/tables/users_ui/rows?sort=age")
        assert (answer.status_code, answer.json()["condition"]) == (503, "SERVER_BUSY")
        assert (answer.headers["retry-after"], client.get("/healthz").status_code) == ("2", 200)
