"""Requests are parsed strictly: what is not in the protocol is rejected, with a reason."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.protocol.frames import (
    MAX_REASON_BYTES,
    BadFrameError,
    ChangeView,
    Ping,
    Request,
    Subscribe,
    Unsubscribe,
    encode,
    parse,
)
from evertable.views.view import MAX_INTEGER, View

names = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.integers(0, MAX_INTEGER)
views = st.builds(
    View,
    st.none() | st.lists(names).map(tuple),
    st.lists(names).map(tuple),
    st.text(st.characters(codec="utf-8")),
    numbers,
    numbers,
    st.booleans(),
)
ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=64)
requests: st.SearchStrategy[Request] = st.one_of(
    st.builds(Subscribe, ids, names, numbers, views),
    st.builds(ChangeView, ids, numbers, views),
    st.builds(Unsubscribe, ids),
    st.builds(Ping, numbers),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["type", "id", "view"]), inner),
)


@given(requests)
def test_encoded_requests_are_parsed_to_the_same(request: Request) -> None:
    assert parse(encode(request)) == request


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ('{"type":"subscribe","id":"a","table":"t"}', Subscribe("a", "t", 0, View())),
        ('{"type":"view","id":"a"}', ChangeView("a", 0, View())),
        ('{"type":"ping"}', Ping(0)),
        ('{"type":"view","id":"a","view":{"columns":null}}', ChangeView("a", 0, View())),
        ('{"type":"view","id":"a","view":{"columns":[]}}', ChangeView("a", 0, View(columns=()))),
        (f'{{"type":"unsubscribe","id":"{"😀" * 64}"}}', Unsubscribe("😀" * 64)),
    ],
)
def test_omitted_fields_have_their_default(text: str, request_: Request) -> None:
    assert parse(text) == request_


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Invalid JSON: "),
        ("{", "Invalid JSON: "),
        ('{"type":"ping"} x', "Invalid JSON: "),
        ('"\\ud800"', "Invalid JSON: "),
        ('{"type":"\ud800"}', ""),
        ("[" * 60_000, "Invalid JSON: "),
        ('{"type":"ping","tag":' + "[" * 2_000 + "]" * 2_000 + "}", "Invalid JSON: "),
        ("NaN", "Input should be an object"),
        ("[]", "Input should be an object"),
        ("{}", "Unable to extract tag using discriminator 'type'"),
        ('{"type":null}', "Input tag 'None' found using 'type' does not match"),
        ('{"type":["ping"]}', "Input tag '['ping']' found"),
        ('{"type":"PING"}', "Input tag 'PING' found"),
        ('{"type":"page"}', "Input tag 'page' found"),
        ('{"type":"unsubscribe"}', "id: Field required"),
        ('{"type":"unsubscribe","id":null}', "id: Input should be a valid string"),
        ('{"type":"unsubscribe","id":7}', "id: Input should be a valid string"),
        ('{"type":"unsubscribe","id":""}', "id: String should have at least 1 character"),
        (f'{{"type":"unsubscribe","id":"{"x" * 65}"}}', "id: String should have at most 64 characters"),
        ('{"type":"unsubscribe","id":"a","tag":1}', "tag: Unknown field"),
        ('{"type":"subscribe","id":"a"}', "table: Field required"),
        ('{"type":"ping","tag":NaN}', "tag: Input should be a valid integer"),
        ('{"type":"ping","tag":true}', "tag: Input should be a valid integer"),
        ('{"type":"ping","tag":1.0}', "tag: Input should be a valid integer"),
        ('{"type":"ping","tag":"1"}', "tag: Input should be a valid integer"),
        ('{"type":"ping","tag":null}', "tag: Input should be a valid integer"),
        ('{"type":"ping","tag":-1}', "tag: Input should be greater than or equal to 0"),
        ('{"type":"ping","tag":9007199254740992}', "tag: Input should be less than or equal to 9007199254740991"),
        ('{"type":"ping","tag":' + "9" * 30 + "}", "tag: Input should be less than or equal to 9007199254740991"),
        ('{"type":"view","id":"a","view":null}', "view: Input should be an object"),
        ('{"type":"view","id":"a","view":[]}', "view: Input should be an object"),
        ('{"type":"view","id":"a","view":{"sort":null}}', "view.sort: Input should be a valid array"),
        ('{"type":"view","id":"a","view":{"sort":"name"}}', "view.sort: Input should be a valid array"),
        ('{"type":"view","id":"a","view":{"columns":["a",1]}}', "view.columns.1: Input should be a valid string"),
        ('{"type":"view","id":"a","view":{"filter":null}}', "view.filter: Input should be a valid string"),
        ('{"type":"view","id":"a","view":{"limit":1e2}}', "view.limit: Input should be a valid integer"),
        ('{"type":"view","id":"a","view":{"newestFirst":0}}', "view.newestFirst: Input should be a valid boolean"),
        ('{"type":"view","id":"a","view":{"newest_first":true}}', "view.newest_first: Unknown field"),
    ],
)
def test_what_is_not_a_request_is_rejected(text: str, reason: str) -> None:
    with pytest.raises(BadFrameError) as rejected:
        parse(text)
    assert rejected.value.reason.startswith(reason)


@given(st.text())
def test_a_reason_fits_into_a_close_frame(text: str) -> None:
    """It is cut between characters."""
    reason = BadFrameError("é" + text * 20).reason
    assert len(reason.encode()) <= MAX_REASON_BYTES
    assert "\ufffd" not in reason or "\ufffd" in text


def is_parsed_or_rejected(text: str) -> None:
    with contextlib.suppress(BadFrameError):
        assert isinstance(parse(text), Request)


@given(st.binary() | anything.map(lambda value: json.dumps(value).encode()))
def test_any_text_is_a_request_or_rejected(raw: bytes) -> None:
    is_parsed_or_rejected(raw.decode("utf-8", "surrogateescape"))


@given(requests, st.data())
def test_a_request_with_a_field_changed_is_a_request_or_rejected(request: Request, data: st.DataObject) -> None:
    frame: dict[str, Any] = json.loads(encode(request))
    target = frame["view"] if "view" in frame and data.draw(st.booleans()) else frame
    field = data.draw(st.sampled_from(sorted(target)) | st.text())
    target[field] = data.draw(anything)
    is_parsed_or_rejected(json.dumps(frame))


@given(requests, st.integers(0, 300), st.text(max_size=3), st.integers(0, 3))
def test_a_request_with_characters_changed_is_a_request_or_rejected(
    request: Request, at: int, put: str, remove: int
) -> None:
    text = encode(request)
    is_parsed_or_rejected(text[:at] + put + text[at + remove :])
