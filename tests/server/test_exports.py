"""Exported files hold exactly the rows of the table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import httpx
import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.live.samples import table
from tests.server.conftest import Serve

from evertable.protocol.decoding import from_json
from evertable.protocol.values import rows_of
from evertable.schema.columns import Column, parse_columns
from evertable.server.exports import Extract, csv_pieces
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.tables.table import schema_of

TYPES = {
    "text": "string",
    "flag": "boolean",
    "small": "int",
    "big": "long",
    "single": "float",
    "number": "double",
    "money": "decimal(10,2)",
    "tiny": "decimal(38,20)",
    "day": "date",
    "at": "timestamp",
    "doc": "json",
}
COLUMNS = parse_columns(TYPES)
TEXTS = [
    "",
    "plain",
    "comma, here",
    'quote "here"',
    "line\nend",
    "\r\n",
    " blank ",
    "ünï 漢字 🎉",
    "null",
    "\t",
    "'",
    ",",
    '"',
]


def odd_row(number: int) -> tuple[Any, ...]:
    """Makes different rows, with some nulls in every column."""
    row = (
        TEXTS[number % len(TEXTS)] + (str(number) if number % 3 else ""),
        number % 2 == 0,
        number - 5000,
        2**53 * (number % 5 - 2) + number,
        float(np.float32(number / 7)),
        (number - 5000) * 10.0 ** (number % 40 - 20),
        Decimal(number) / 100,
        Decimal(number).scaleb(-20),
        date(1600 + number % 800, 1, 1),
        datetime(2026, 1, 1, tzinfo=UTC).replace(microsecond=number % 1000),
        orjson.dumps({"n": number, "text": TEXTS[number % len(TEXTS)]}).decode(),
    )
    return tuple(None if (number + place) % 11 == 0 else value for place, value in enumerate(row))


RAW = [("formulas", "raw")]
ROWS = [odd_row(number) for number in range(10_000)]


@pytest.fixture(scope="module")
def odd() -> BoundedTable:
    return table(COLUMNS, ROWS)


@pytest.fixture
def client(serve: Serve, odd: BoundedTable) -> Iterator[httpx.Client]:
    catalog = Catalog(["odd"])
    catalog.publish(5, {"odd": odd})
    with httpx.Client(base_url=serve(catalog).url) as made:
        yield made


def cells(text: str) -> list[list[str | None]]:
    """Parses CSV with its header; unlike Python's parser it distinguishes empty texts from nulls."""
    lines: list[list[str | None]] = [[]]
    cell, quoted, was_quoted = "", False, False
    position = 0
    while position < len(text):
        char = text[position]
        if quoted:
            if char != '"':
                cell += char
            elif text[position + 1 : position + 2] == '"':
                cell, position = cell + '"', position + 1
            else:
                quoted = False
        elif char == '"' and not cell:
            quoted = was_quoted = True
        elif char == "," or text.startswith("\r\n", position):
            lines[-1].append(cell if cell or was_quoted else None)
            cell, was_quoted = "", False
            if char != ",":
                lines.append([])
                position += 1
        else:
            cell += char
        position += 1
    assert (lines.pop(), cell) == ([], "")  # the last line is terminated
    return lines


def json_cells(columns: tuple[Column, ...], rows: list[tuple[Any, ...]]) -> list[list[str | None]]:
    """Converts values to texts: strings unchanged, all others as JSON."""
    arrays = [
        pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), schema_of(columns).types, strict=True)
    ]
    shown = rows_of(pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns)), columns)
    return [
        [value if isinstance(value, str | None) else orjson.dumps(value).decode() for value in row] for row in shown
    ]


def test_csv_is_the_table(client: httpx.Client) -> None:
    """Ten thousand rows of every type: a header, values as in JSON, nulls distinct from empty texts."""
    answer = client.get("/api/tables/odd.csv", params={"formulas": "raw"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["content-disposition"] == "attachment; filename=\"odd.csv\"; filename*=UTF-8''odd.csv"
    header, *lines = cells(answer.content.decode())
    assert header == list(TYPES)
    assert lines == json_cells(COLUMNS, ROWS)
    read = list(csv.reader(io.StringIO(answer.content.decode(), newline="")))
    assert read == [["" if cell is None else cell for cell in line] for line in [header, *lines]]


def test_csv_is_the_rows_of_the_pages(client: httpx.Client) -> None:
    """The same values in the same order, with the same parameters."""
    shape = {"columns": ["at", "money", "number", "text"], "sort": ["-number", "text"], "filter": "small > -4000"}
    page = client.get("/api/tables/odd/rows", params={**shape, "limit": 10_000}).json()["rows"]
    _, *lines = cells(client.get("/api/tables/odd.csv", params={**shape, "formulas": "raw"}).content.decode())
    assert lines == [[v if isinstance(v, str | None) else orjson.dumps(v).decode() for v in row] for row in page]
    assert len(lines) > 5000


FORMULAS = ["=1+1", "+49 30 1", "-5", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", '=HYPERLINK("http://x","y")']
FORMULAS += [
    " =1",
    "\u00a0 =1",
    "\u3000+1",
    "\ufeff=1",
    "\u200b@x",
    "\0=1",
    "\x0b=1",
]  # behind trimmed characters
HARMLESS = ["", "a=b", "'=1", "5-3", "x@y.example", "", " ", " a=b"]


@pytest.fixture
def formulas(serve: Serve) -> Iterator[httpx.Client]:
    """Serves texts and a column name that spreadsheets evaluate, and negative numbers."""
    columns = parse_columns({"=text": "string", "n": "long", "money": "decimal(10,2)", "d": "double", "doc": "json"})
    rows: list[tuple[Any, ...]] = [(text, -5, Decimal("-5.00"), -5.5, "-5") for text in [*FORMULAS, *HARMLESS]]
    rows.append((None, None, None, None, None))
    with httpx.Client(base_url=serve(Catalog([], {"sheet": table(columns, rows)})).url) as made:
        yield made


def test_no_text_is_a_formula_to_a_spreadsheet(formulas: httpx.Client) -> None:
    """It gets an apostrophe; numbers and nulls are unchanged."""
    for params in ({}, {"formulas": "escaped"}, {"formulas": ""}):
        header, *lines = cells(formulas.get("/api/tables/sheet.csv", params=params).content.decode())
        assert header == ["'=text", "n", "money", "d", "doc"]
        assert [line[0] for line in lines] == [*(f"'{text}" for text in FORMULAS), *HARMLESS, None]
        assert {tuple(line[1:]) for line in lines[:-1]} == {("-5", "-5.00", "-5.5", "-5")}
        assert lines[-1] == [None] * 5


def test_formulas_can_be_exported_unchanged(formulas: httpx.Client) -> None:
    """Programs want that; other formats never change a text."""
    header, *lines = cells(formulas.get("/api/tables/sheet.csv", params={"formulas": "raw"}).content.decode())
    assert (header[0], [line[0] for line in lines]) == ("=text", [*FORMULAS, *HARMLESS, None])
    for address in ("sheet.csv?formulas=some", "sheet.arrow?formulas=raw", "sheet.csv?formulas=raw&formulas=raw"):
        refused = formulas.get(f"/api/tables/{address}")
        assert (refused.status_code, refused.json()["condition"]) == (400, "PARAMETER_INVALID")


def test_arrow_is_the_table(client: httpx.Client) -> None:
    """It has the types of the columns, and metadata of its origin."""
    answer = client.get("/api/tables/odd.arrow")
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    read = pa.ipc.open_stream(answer.content).read_all()
    assert read.schema.equals(schema_of(COLUMNS))
    origin = {"table": "odd", "generation": "5", "publication": "1", "version": "1"}
    assert read.schema.metadata == {f"evertable.{key}".encode(): value.encode() for key, value in origin.items()}
    types = [field.metadata[b"evertable.type"].decode() for field in read.schema]
    assert types == [str(column.type) for column in COLUMNS]
    assert list(zip(*(column.to_pylist() for column in read.columns), strict=True)) == ROWS


def test_arrow_of_a_view(client: httpx.Client) -> None:
    """Columns, sort, filter and direction are those of pages."""
    shape = {"columns": "small", "filter": "flag = true", "newestFirst": "true"}
    read = pa.ipc.open_stream(client.get("/api/tables/odd.arrow", params=shape).content).read_all()
    assert read.column("small").to_pylist() == [row[2] for row in reversed(ROWS) if row[1]]
    assert read.column_names == ["small"]


def test_an_empty_table(serve: Serve) -> None:
    """The file has a header or a schema."""
    catalog = Catalog([], {"empty": table(COLUMNS, [])})
    with httpx.Client(base_url=serve(catalog).url) as client:
        assert client.get("/api/tables/empty.csv").text == ",".join(TYPES) + "\r\n"
        read = pa.ipc.open_stream(client.get("/api/tables/empty.arrow").content).read_all()
        assert (read.num_rows, read.schema.equals(schema_of(COLUMNS))) == (0, True)


def test_an_export_is_one_version_of_the_table() -> None:
    """Later changes are not in it."""
    growing = table(COLUMNS, ROWS[:1000])
    pieces = csv_pieces(Extract.of(Catalog([], {"growing": growing}), "growing", RAW))
    begin = next(pieces) + next(pieces)
    growing.append(ROWS[1000:2000])
    _, *lines = cells((begin + b"".join(pieces)).decode())
    assert lines == json_cells(COLUMNS, ROWS[:1000])


def test_pieces_stay_small() -> None:
    """A piece has few rows of a hundred kilobytes, or thousands of small ones."""
    wide = table(parse_columns({"x": "string"}), [("y" * 100_000,) for _ in range(300)])
    sizes = [batch.num_rows for batch in Extract.of(Catalog([], {"t": wide}), "t", []).batches()]
    assert (max(sizes), sum(sizes)) == (2, 300)
    narrow = table(parse_columns({"x": "long"}), [(number,) for number in range(50_000)])
    sizes = [batch.num_rows for batch in Extract.of(Catalog([], {"t": narrow}), "t", []).batches()]
    assert (max(sizes), sum(sizes)) == (8192, 50_000)
    mixed = table(parse_columns({"x": "string"}), [("y" * (1_000_000 if n > 20_000 else 1),) for n in range(20_100)])
    sizes = [batch.nbytes for batch in Extract.of(Catalog([], {"t": mixed}), "t", []).batches()]
    assert max(sizes) < 1_100_000


finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.fixed_dictionaries(
    {
        "text": st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        "flag": st.none() | st.booleans(),
        "big": st.none() | st.integers(-(2**63), 2**63 - 1),
        "single": st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False),
        "number": st.none() | finite,
        "tiny": st.none() | st.decimals(-(10**17), 10**17, places=20),
        "day": st.none() | st.dates(),
        "at": st.none() | st.datetimes(timezones=st.just(UTC)),
    }
)
NAMES = ("text", "flag", "big", "single", "number", "tiny", "day", "at")
SOME: tuple[Column, ...] = parse_columns({name: TYPES[name] for name in NAMES})


@given(st.lists(values, max_size=5))
def test_any_value(rows: list[dict[str, Any]]) -> None:
    """Parsing the CSV returns the rows of the table."""
    given_rows = [tuple(row[column.name] for column in SOME) for row in rows]
    catalog = Catalog([], {"t": table(SOME, given_rows)})
    header, *lines = cells(b"".join(csv_pieces(Extract.of(catalog, "t", RAW))).decode())
    assert header == [column.name for column in SOME]
    read = [tuple(_meant(column, cell) for column, cell in zip(SOME, line, strict=True)) for line in lines]
    assert read == given_rows
    zeros = [(row[4], again[4]) for row, again in zip(given_rows, read, strict=True) if row[4] == 0]
    assert all(math.copysign(1, was) == math.copysign(1, now) for was, now in zeros)


def _meant(column: Column, cell: str | None) -> Any:
    if cell is not None and str(column.type) == "boolean":
        return {"true": True, "false": False}[cell]
    if cell is not None and str(column.type) == "float":
        return float(np.float32(cell))  # it has only the digits that identify it among floats
    return from_json(column.type, cell)
