"""Pages are encoded for the wire and read in Python."""

from __future__ import annotations

import json

from evertable.errors import TableNotFoundError
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.protocol.page import Page, PageRows, page_tail
from evertable.schema.columns import Column, ColumnType, Kind

COLUMNS = (Column('na"me', ColumnType(Kind.STRING)), Column("sum", ColumnType(Kind.DECIMAL, 9, 2)))


def test_a_tail_is_shared_by_every_subscription() -> None:
    rows = PageRows.of([7], [('A"da', "1.50")])
    tail = page_tail('t"', Stamp(5, 2, 3), 1, 0, COLUMNS, rows.json, ("gone",))
    for name, tag in (("a", 1), ('"é\\', 2)):
        frame = json.loads(answers.prefix("page", name, tag) + tail)
        assert (frame["type"], frame["id"], frame["tag"]) == ("page", name, tag)
        assert (frame["table"], frame["rows"], frame["missing"]) == ('t"', [['A"da', "1.50"]], ["gone"])
        assert frame["columns"] == [{"name": 'na"me', "type": "string"}, {"name": "sum", "type": "decimal(9,2)"}]


def test_a_page_may_be_empty() -> None:
    frame = json.loads(b"{" + page_tail("t", Stamp(5, 2, 3), 0, 0, (), ()))
    assert (frame["columns"], frame["rows"]) == ([], [])
    assert "missing" not in frame


def test_rows_by_name() -> None:
    page = Page("t", 3, 5, 2, 1, 0, COLUMNS, (("Ada", None),))
    assert page.dicts() == [{'na"me': "Ada", "sum": None}]
    assert page.stamp == Stamp(5, 2, 3)


def test_stamps_are_ordered_by_publication_first() -> None:
    """After a rollback an older generation has a newer publication."""
    assert Stamp(4, 900, 3) < Stamp(5, 1, 2) < Stamp(5, 2, 2)


def test_an_error_has_the_next_step() -> None:
    problem = TableNotFoundError("There is no 'x'.", "There are a and b.")
    assert json.loads(answers.error("s", 3, problem)) == {
        "type": "error",
        "id": "s",
        "tag": 3,
        "condition": "TABLE_NOT_FOUND",
        "message": "There is no 'x'. There are a and b.",
    }
