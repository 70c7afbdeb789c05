"""Frames become pages: whole ones, the newest ones, and none that is out of order."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.client.errors import ServerRefusedError
from evertable.client.following import Following, ProtocolError
from evertable.errors import FilterError
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.protocol.frames import Ping, Subscribe, parse
from evertable.protocol.page import Page, PageRows, Row, page_tail
from evertable.protocol.patch import Patch, diff, patch_tail
from evertable.schema.columns import Column, ColumnType
from evertable.views.view import View

COLUMNS = tuple(
    Column(name, ColumnType.parse(type_))
    for name, type_ in {"name": "string", "sum": "decimal(9,2)", "at": "timestamp"}.items()
)
ADA = ("Ada", "1.50", "2026-11-15T20:07:28.000000Z")
BOB = ("Bob", None, None)


def frame(kind: str, tail: bytes, tag: int = 1, id_: str = "watch") -> bytes:
    return answers.prefix(kind, id_, tag) + tail


BEGIN = Stamp(1, 1, 1)


def page_frame(*rows: Row, at: Stamp = BEGIN, tag: int = 1, id_: str = "watch", total: int = 2) -> bytes:
    tail = page_tail("t", at, total, 0, COLUMNS, PageRows.of(range(len(rows)), rows).json, ())
    return frame("page", tail, tag, id_)


@pytest.fixture
def following() -> Following:
    """One that has subscribed on its first socket."""
    made = Following("t", View(sort=("name",)))
    made.subscribe()
    return made


def received(following: Following, text: bytes) -> Page:
    page = following.receive(text)
    assert page is not None
    assert page is following.page
    return page


def test_each_socket_begins_with_the_view_under_a_new_tag() -> None:
    following = Following("t", View(sort=("name",)))
    sent = [parse(following.subscribe()) for _ in range(2)]
    assert sent == [Subscribe("watch", "t", tag, View(sort=("name",))) for tag in (1, 2)]
    assert isinstance(parse(following.ping()), Ping)


def test_a_page_comes_in_python_s_types(following: Following) -> None:
    page = received(following, page_frame(ADA, BOB, at=Stamp(5, 7, 3)))
    assert (page.table, page.generation, page.publication, page.version, page.total) == ("t", 3, 5, 7, 2)
    assert page.columns == COLUMNS
    assert page.rows == (("Ada", Decimal("1.50"), datetime(2026, 11, 15, 20, 7, 28, tzinfo=UTC)), BOB)


def test_a_patch_makes_a_new_page(following: Following) -> None:
    """The page before it stays as it was."""
    first = received(following, page_frame(ADA, BOB))
    patch = Patch([(0, 1, [])], [(0, 1, "2.00")])
    second = received(following, frame("patch", patch_tail(Stamp(1, 2, 1), 1, 5, patch)))
    assert second.rows == (("Bob", Decimal("2.00"), None),)
    assert (second.version, second.total, second.offset, second.columns) == (2, 1, 5, COLUMNS)
    assert first.rows[1] == BOB


def test_a_total_changes_nothing_else(following: Following) -> None:
    first = received(following, page_frame(ADA))
    second = received(following, frame("total", answers.total_tail(Stamp(1, 2, 1), 9)))
    assert (second.total, second.version, second.rows) == (9, 2, first.rows)


@pytest.mark.parametrize(
    "text",
    [
        b'{"type":"welcome","protocol":"evertable.v1","version":"9","limits":{}}',
        answers.pong(1),
        answers.waiting("watch", 1, "t"),
        b'{"type":"something new","id":"watch","tag":1}',
        page_frame(ADA, tag=0),
        page_frame(ADA, id_="another"),
        answers.error("watch", 0, FilterError("of an older view", 1)),
    ],
)
def test_what_is_not_about_the_view_is_left_aside(following: Following, text: bytes) -> None:
    assert following.receive(text) is None


def test_older_frames_are_dropped(following: Following) -> None:
    newest = received(following, page_frame(ADA, at=Stamp(2, 5, 1)))
    for at in (Stamp(2, 4, 1), Stamp(1, 900, 9)):
        assert following.receive(page_frame(BOB, at=at)) is None
        assert following.receive(frame("total", answers.total_tail(at, 7))) is None
    assert following.page is newest


def test_a_rollback_is_newer(following: Following) -> None:
    received(following, page_frame(ADA, at=Stamp(5, 900, 3)))
    assert received(following, page_frame(BOB, at=Stamp(6, 4, 2))).rows == (BOB,)


def test_a_new_socket_starts_afresh_and_the_old_page_stays_until_then(following: Following) -> None:
    """A restarted server may count from the beginning again."""
    kept = received(following, page_frame(ADA, at=Stamp(5, 900, 3)))
    following.subscribe()
    assert following.page is kept
    assert following.receive(page_frame(BOB, at=Stamp(6, 1, 4), tag=1)) is None
    assert received(following, page_frame(BOB, at=Stamp(1, 1, 1), tag=2)).rows == (BOB,)


def test_a_refusal_is_raised_with_the_server_s_words(following: Following) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        following.receive(answers.error("watch", 1, FilterError("expected a value", 9)))
    assert (refused.value.condition, refused.value.position) == ("FILTER_INVALID", 9)
    assert str(refused.value) == "[FILTER_INVALID] expected a value"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"7",
        b"{}",
        b'{"type":"page"}',
        b'{"type":["page"],"id":"watch","tag":1}',
        page_frame(ADA).replace(b"decimal(9,2)", b"colour"),
        page_frame(ADA)[:-9],
        page_frame(ADA).replace(b'"1.50"', b"[]"),
        page_frame(ADA).replace(b'"1.50"', b'"much"'),
        page_frame(ADA).replace(b'"decimal(9,2)"', b"7"),
        frame("patch", patch_tail(Stamp(1, 2, 1), 1, 0, Patch())),
        frame("total", answers.total_tail(Stamp(1, 2, 1), 1)),
    ],
)
def test_what_cannot_be_is_told_apart_from_a_mistake_of_ours(following: Following, text: bytes) -> None:
    """Garbage, and changes before any page: this socket is of no more use."""
    with pytest.raises(ProtocolError):
        following.receive(text)


@pytest.mark.parametrize("at", [Stamp(2, 3, 1), Stamp(1, 3, 2)])
def test_a_change_across_generations_is_not_applied(following: Following, at: Stamp) -> None:
    received(following, page_frame(ADA))
    with pytest.raises(ProtocolError):
        following.receive(frame("patch", patch_tail(at, 1, 0, Patch([(0, 1, [])]))))


cells = st.tuples(st.text(max_size=2), st.none() | st.sampled_from(["0.00", "1.50"]), st.just(BOB[2]))
pages = st.dictionaries(st.integers(0, 12), cells, max_size=8)


@given(st.lists(st.tuples(pages, st.permutations(range(13))), min_size=1, max_size=5))
def test_pages_and_patches_lead_to_the_same_rows(history: list[tuple[dict[int, Row], list[int]]]) -> None:
    """Whatever a server's page goes through, who follows its patches sees what it would see in whole pages."""
    patched, whole = Following("t", View()), Following("t", View())
    patched.subscribe()
    whole.subscribe()
    before: PageRows | None = None
    for version, (rows, order) in enumerate(history):
        keys = [key for key in order if key in rows]
        now = PageRows.of(keys, [rows[key] for key in keys])
        at = Stamp(1, version, 1)
        in_whole = frame("page", page_tail("t", at, 9, 0, COLUMNS, now.json))
        change = None if before is None else frame("patch", patch_tail(at, 9, 0, diff(before, now)))
        assert received(patched, change or in_whole) == received(whole, in_whole)
        before = now


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
FRAMES: list[dict[str, Any]] = [
    json.loads(page_frame(ADA, BOB, at=Stamp(1, 2, 1))),
    json.loads(frame("patch", patch_tail(Stamp(1, 2, 1), 1, 0, Patch([(0, 1, [BOB])], [(0, 1, "2.00")])))),
    json.loads(frame("total", answers.total_tail(Stamp(1, 2, 1), 9))),
    json.loads(answers.error("watch", 1, FilterError("no", 3))),
]


@given(st.sampled_from(FRAMES), st.data())
def test_a_frame_with_anything_in_it_is_a_page_or_told(shown: dict[str, Any], data: st.DataObject) -> None:
    """Nothing that a server may send is taken for a mistake of ours."""
    following = Following("t", View())
    following.subscribe()
    received(following, page_frame(ADA, BOB))
    changed = {**shown, data.draw(st.sampled_from(sorted(shown))): data.draw(anything)}
    with suppress(ProtocolError, ServerRefusedError):
        assert isinstance(following.receive(json.dumps(changed)), Page | None)


def test_columns_that_are_gone_are_named() -> None:
    following = Following("t", View(columns=("name", "balance")))
    following.subscribe()
    shown: dict[str, Any] = json.loads(page_frame(ADA))
    page = received(following, orjson.dumps({**shown, "missing": ["balance"]}))
    assert page.missing == ("balance",)
