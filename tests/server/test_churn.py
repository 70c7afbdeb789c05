"""While a changelog is folded, each page of a viewer equals the table at the page's version."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.reference.histories import COLUMNS, KEY, packed, placed, sampled
from tests.reference.operator import ModelOperator
from tests.server.conftest import Serve
from tests.server.viewers import Viewer, live
from tests.tables.contents import INPUTS, rows_of
from tests.views.naive import Naive

from evertable.changelog.decode import Decoder
from evertable.changelog.schema import ChangelogSchema
from evertable.schema.joins import JoinType
from evertable.tables.catalog import Catalog
from evertable.tables.generation import GenerationTables
from evertable.views.filters import parse
from evertable.views.view import View

Rows = list[list[Any]]

VIEWS = [
    View(limit=20),
    View(offset=15, limit=10),
    View(limit=12, newest_first=True),
    View(limit=10_000),
    View(limit=0),
    View(offset=3, limit=15, sort=("-balance", "name")),
    View(limit=30, filter="balance > 5 and name contains 'a'"),
    View(limit=8, sort=("age",), filter="accountType is null or age >= 3", newest_first=True),
]


def json_rows(tables: GenerationTables) -> Rows:
    """Returns the joined table as JSON, with timestamps as text."""
    texts = [
        [value.isoformat(timespec="microseconds") if hasattr(value, "isoformat") else value for value in row]
        for row in rows_of(tables.joined)
    ]
    return [[text.replace("+00:00", "Z") if isinstance(text, str) else text for text in row] for row in texts]


@pytest.mark.parametrize("join", JoinType)
def test_every_page_is_the_tables(serve: Serve, join: JoinType) -> None:
    """Unsorted views are compared at each version; others at the end, and their cells always."""
    schema, random = ChangelogSchema(*COLUMNS, join), Random(join.value)
    lines = ModelOperator(schema, (KEY, KEY)).run(placed(packed(sampled(60, number=7))))
    random.shuffle(lines)
    catalog = Catalog(["users_ui", "accounts_ui", "final_ui"])
    tables = GenerationTables(*INPUTS, join, on_change=catalog.notify)
    catalog.publish(1, {"users_ui": tables.left, "accounts_ui": tables.right, "final_ui": tables.joined})
    server, *_ = live(serve, catalog)
    states: dict[int, Rows] = {0: []}
    seen: list[tuple[View, int, int, Rows]] = []
    with Viewer(server.url) as viewer:
        pictures = {str(i): viewer.subscribe("final_ui", str(i), **as_frame(view)) for i, view in enumerate(VIEWS)}

        def remember(frame: dict[str, Any]) -> None:
            if (picture := pictures.get(frame.get("id", ""))) is not None:
                seen.append((VIEWS[int(frame["id"])], picture.page["version"], picture.total, picture.rows))

        viewer.on_frame = remember
        while lines:
            size = random.randint(1, 9)
            tables.fold(Decoder(schema).decode(lines[:size]))
            del lines[:size]
            states[tables.joined.version] = json_rows(tables)
            if random.random() < 0.5:
                viewer.settle(len(lines))
        last = states[tables.joined.version]
        for view, picture in zip(VIEWS, pictures.values(), strict=True):
            should = expected(tables, view, last)
            viewer.until(lambda v=view, p=picture, s=should: (p.total, p.rows) == (len(s), page(v, s)))  # type: ignore[misc]
    assert len(seen) > len(VIEWS)
    for view, version, total, rows in seen:
        state = states[version]
        if view.sort or view.filter:
            assert all(row in state for row in rows)
        else:
            assert (total, rows) == (len(state), page(view, expected(tables, view, state)))


def as_frame(view: View) -> dict[str, Any]:
    names = {"newest_first": "newestFirst"}
    return {names.get(name, name): value for name, value in vars(view).items()}


def expected(tables: GenerationTables, view: View, rows: Rows) -> Rows:
    """Computes the rows of the view in plain Python."""
    order = Naive(tables.joined.columns).order(rows, view.sort, parse(view.filter), view.newest_first)
    return [rows[i] for i in order]


def page(view: View, rows: Rows) -> Rows:
    return rows[view.offset :][: view.limit]
