"""Frames become pages, and frames out of order are dropped."""

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
from tests.client.frames import ADA, BOB, COLUMNS, frame, page_frame

from evertable.client.errors import ServerRefusedError
from evertable.client.receiver import PageReceiver, ProtocolError
from evertable.errors import FilterError
from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.protocol.frames import Ping, Subscribe, parse
from evertable.protocol.page import Page, PageRows, Row, page_tail
from evertable.protocol.patch import Patch, diff, patch_tail
from evertable.views.view import View


@pytest.fixture
def receiver() -> PageReceiver:
    """A receiver that has subscribed on its first socket."""
    made = PageReceiver("t", View(sort=("name",)))
    made.subscribe()
    return made


def received(receiver: PageReceiver, text: bytes) -> Page:
    page = receiver.receive(text)
    assert page is not None
    assert page is receiver.page
    return page


def test_each_socket_begins_with_the_view_under_a_new_tag() -> None:
    receiver = PageReceiver("t", View(sort=("name",)))
    sent = [parse(receiver.subscribe()) for _ in range(2)]
    assert sent == [Subscribe("watch", "t", tag, View(sort=("name",))) for tag in (1, 2)]
    assert isinstance(parse(receiver.ping()), Ping)


def test_a_page_has_python_types(receiver: PageReceiver) -> None:
    page = received(receiver, page_frame(ADA, BOB, at=Stamp(5, 7, 3)))
    assert (page.table, page.generation, page.publication, page.version, page.total) == ("t", 3, 5, 7, 2)
    assert page.columns == COLUMNS
    assert page.rows == (("Ada", Decimal("1.50"), datetime(2026, 11, 15, 20, 7, 28, tzinfo=UTC)), BOB)


def test_a_patch_makes_a_new_page(receiver: PageReceiver) -> None:
    """The previous page is not changed."""
    first = received(receiver, page_frame(ADA, BOB))
    patch = Patch([(0, 1, [])], [(0, 1, "2.00")])
    second = received(receiver, frame("patch", patch_tail(Stamp(1, 2, 1), 1, 5, patch)))
    assert second.rows == (("Bob", Decimal("2.00"), None),)
    assert (second.version, second.total, second.offset, second.columns) == (2, 1, 5, COLUMNS)
    assert first.rows[1] == BOB


def test_a_total_changes_nothing_else(receiver: PageReceiver) -> None:
    first = received(receiver, page_frame(ADA))
    second = received(receiver, frame("total", answers.total_tail(Stamp(1, 2, 1), 9)))
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
def test_frames_for_other_views_are_ignored(receiver: PageReceiver, text: bytes) -> None:
    assert receiver.receive(text) is None


def test_older_frames_are_dropped(receiver: PageReceiver) -> None:
    newest = received(receiver, page_frame(ADA, at=Stamp(2, 5, 1)))
    for at in (Stamp(2, 4, 1), Stamp(1, 900, 9)):
        assert receiver.receive(page_frame(BOB, at=at)) is None
        assert receiver.receive(frame("total", answers.total_tail(at, 7))) is None
    assert receiver.page is newest


def test_a_rollback_is_newer(receiver: PageReceiver) -> None:
    received(receiver, page_frame(ADA, at=Stamp(5, 900, 3)))
    assert received(receiver, page_frame(BOB, at=Stamp(6, 4, 2))).rows == (BOB,)


def test_the_old_page_stays_until_a_new_socket_has_one(receiver: PageReceiver) -> None:
    """Stamps of a restarted server may be lower."""
    kept = received(receiver, page_frame(ADA, at=Stamp(5, 900, 3)))
    receiver.subscribe()
    assert receiver.page is kept
    assert receiver.receive(page_frame(BOB, at=Stamp(6, 1, 4), tag=1)) is None
    assert received(receiver, page_frame(BOB, at=Stamp(1, 1, 1), tag=2)).rows == (BOB,)


def test_a_refusal_is_raised(receiver: PageReceiver) -> None:
    with pytest.raises(ServerRefusedError) as refused:
        receiver.receive(answers.error("watch", 1, FilterError("expected a value", 9)))
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
def test_malformed_frames(receiver: PageReceiver, text: bytes) -> None:
    """Malformed frames, and changes before the first page, are protocol errors."""
    with pytest.raises(ProtocolError):
        receiver.receive(text)


@pytest.mark.parametrize("at", [Stamp(2, 3, 1), Stamp(1, 3, 2)])
def test_a_change_across_generations_is_not_applied(receiver: PageReceiver, at: Stamp) -> None:
    received(receiver, page_frame(ADA))
    with pytest.raises(ProtocolError):
        receiver.receive(frame("patch", patch_tail(at, 1, 0, Patch([(0, 1, [])]))))


cells = st.tuples(st.text(max_size=2), st.none() | st.sampled_from(["0.00", "1.50"]), st.just(BOB[2]))
pages = st.dictionaries(st.integers(0, 12), cells, max_size=8)


@given(st.lists(st.tuples(pages, st.permutations(range(13))), min_size=1, max_size=5))
def test_pages_and_patches_lead_to_the_same_rows(history: list[tuple[dict[int, Row], list[int]]]) -> None:
    """Patches give the same rows as whole pages."""
    patched, whole = PageReceiver("t", View()), PageReceiver("t", View())
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
def test_any_frame_is_a_page_or_a_protocol_error(shown: dict[str, Any], data: st.DataObject) -> None:
    """No frame raises another error than ProtocolError or ServerRefusedError."""
    receiver = PageReceiver("t", View())
    receiver.subscribe()
    received(receiver, page_frame(ADA, BOB))
    changed = {**shown, data.draw(st.sampled_from(sorted(shown))): data.draw(anything)}
    with suppress(ProtocolError, ServerRefusedError):
        assert isinstance(receiver.receive(json.dumps(changed)), Page | None)


def test_missing_columns() -> None:
    receiver = PageReceiver("t", View(columns=("name", "balance")))
    receiver.subscribe()
    shown: dict[str, Any] = json.loads(page_frame(ADA))
    page = received(receiver, orjson.dumps({**shown, "missing": ["balance"]}))
    assert page.missing == ("balance",)
