"""The rules of docs/CONTROL.md for control messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evertable.config import Config, JoinType
from evertable.control.messages import (
    MAX_SHOWN,
    MAX_WARNINGS,
    Condition,
    ControlMessage,
    Rejected,
    Resolved,
    fold,
    keys_of,
    resolve,
)
from evertable.schema.wiring import Wiring


def config(*sources: str, **more: Any) -> Config:
    described = {name: {"topic": f"{name}_v1", "key": "id", "columns": {"id": "long"}} for name in sources}
    return Config.model_validate({"kafka": {"bootstrap.servers": "a:1"}, "sources": described, **more})


CONFIG = config("users", "accounts")
KEYS = keys_of(CONFIG)
WANTED = CONFIG.wiring


def resolved(message: str | dict[str, Any], wanted: Wiring = WANTED) -> Resolved:
    value = message if isinstance(message, str) else json.dumps(message)
    resolution = resolve(value.encode(), wanted, KEYS)
    assert isinstance(resolution, Resolved), resolution
    return resolution


def rejected(value: str | bytes | None) -> Rejected:
    resolution = resolve(value.encode() if isinstance(value, str) else value, WANTED, KEYS)
    assert isinstance(resolution, Rejected), resolution
    return resolution


@pytest.mark.parametrize(
    ("message", "wiring"),
    [
        ({"usersTopic": "x"}, Wiring("x", "accounts_v1", JoinType.LEFT)),
        ({"accountsTopic": "x"}, Wiring("users_v1", "x", JoinType.LEFT)),
        ({"joinType": "inner"}, Wiring("users_v1", "accounts_v1", JoinType.INNER)),
        ({"usersTopic": "a", "accountsTopic": "b", "joinType": "natural"}, Wiring("a", "b", JoinType.NATURAL)),
        ({"usersTopic": "  x\t\n", "joinType": " \u00a0ASOF "}, Wiring("x", "accounts_v1", JoinType.ASOF)),
        ({"usersTopic": "accounts_v1"}, Wiring("accounts_v1", "accounts_v1", JoinType.LEFT)),
        ({"usersTopic": "x" * 249}, Wiring("x" * 249, "accounts_v1", JoinType.LEFT)),
        ('{"joinType": "left", "joinType": "inner"}', Wiring("users_v1", "accounts_v1", JoinType.INNER)),
        ('{"joinType": 42, "joinType": "inner"}', Wiring("users_v1", "accounts_v1", JoinType.INNER)),
        (' {"usersTopic": "\\u0078"} ', Wiring("x", "accounts_v1", JoinType.LEFT)),
    ],
)
def test_a_message_changes_the_keys_that_it_has(message: str | dict[str, Any], wiring: Wiring) -> None:
    """Any subset of the keys; blanks around values are ignored, the last of duplicate keys counts."""
    resolution = resolved(message)
    assert (resolution.wiring, resolution.changed, resolution.warnings) == (wiring, True, ())


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"usersTopic": "", "accountsTopic": "  ", "joinType": "\t"},
        {"usersTopic": None, "joinType": None},
        {"usersTopic": "users_v1"},
        {"usersTopic": " users_v1 ", "accountsTopic": "accounts_v1", "joinType": "LEFT_OUTER"},
    ],
)
def test_empty_null_and_equal_values_change_nothing(message: dict[str, Any]) -> None:
    resolution = resolved(message)
    assert (resolution.wiring, resolution.changed) == (WANTED, False)


@pytest.mark.parametrize(
    ("spelled", "join"),
    [
        ("join", JoinType.INNER),
        ("Inner", JoinType.INNER),
        ("LEFT JOIN", JoinType.LEFT),
        ("natural_join", JoinType.NATURAL),
        ("aj", JoinType.ASOF),
        ("As_Of", JoinType.ASOF),
    ],
)
def test_spellings_of_joins(spelled: str, join: JoinType) -> None:
    assert resolved({"joinType": spelled}, Wiring("u", "a", JoinType.INNER)).wiring.join == join


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("value", "condition", "sentence"),
    [
        (None, "NOT_JSON", "The message has no value (a tombstone)."),
        ("", "NOT_JSON", "The value is empty."),
        (" \n", "NOT_JSON", "The value is empty."),
        ("users_v2", "NOT_JSON", "The value is not JSON: Expecting value, at character 0."),
        ("{} {}", "NOT_JSON", "The value is not JSON: Extra data, at character 3."),
        ("{'joinType': 'inner'}", "NOT_JSON", "The value is not JSON: Expecting property name"),
        (b'{"joinType": "inn\xff"}', "NOT_JSON", "The value is not UTF-8: byte 17 is invalid."),
        ('{"joinType": "inner"}'.encode("utf-16"), "NOT_JSON", "The value is not UTF-8: byte 0 is invalid."),
        ('{"joinType": "inner"}'.encode("utf-16-le"), "NOT_JSON", "The value is not JSON: "),
        (b'\xef\xbb\xbf{"joinType": "inner"}', "NOT_JSON", "The value begins with a byte order mark (BOM, EF BB BF)."),
        ('{"other": NaN}', "NOT_JSON", "The value is not JSON: NaN is not a JSON number."),
        (DEEP, "NOT_JSON", "The value is not JSON that can be read: it is nested too deeply."),
        (f'{{"joinType": {DEEP}}}', "NOT_JSON", "The value is not JSON that can be read: it is nested too deeply."),
        ("[]", "NOT_AN_OBJECT", "The value is JSON, but a list and not an object"),
        ('"inner"', "NOT_AN_OBJECT", "The value is JSON, but a string"),
        ("null", "NOT_AN_OBJECT", "The value is JSON, but null"),
        ("42", "NOT_AN_OBJECT", "The value is JSON, but a number"),
        ("9" * 10_000, "NOT_AN_OBJECT", "The value is JSON, but a number"),
        ("1.5", "NOT_AN_OBJECT", "The value is JSON, but a number"),
        ("true", "NOT_AN_OBJECT", "The value is JSON, but a boolean"),
        ('{"joinType": 42}', "WRONG_TYPE", "joinType is a number; a string or null is expected."),
        ('{"usersTopic": ["a"], "joinType": "?"}', "WRONG_TYPE", "usersTopic is a list"),
        ('{"accountsTopic": {}}', "WRONG_TYPE", "accountsTopic is an object"),
        ('{"accountsTopic": false}', "WRONG_TYPE", "accountsTopic is a boolean"),
        ('{"joinType": "outer"}', "UNKNOWN_JOIN_TYPE", "joinType: 'outer' is no join type; known are inner, left, nat"),
        ('{"joinType": "\\ud800"}', "UNKNOWN_JOIN_TYPE", "joinType: '\ufffd' is no join type"),
        ('{"usersTopic": "a b"}', "INVALID_TOPIC_NAME", "usersTopic: 'a b' is not allowed in a topic's name"),
        ('{"usersTopic": ".."}', "INVALID_TOPIC_NAME", "usersTopic: '..' cannot name a topic"),
        (f'{{"usersTopic": "{"x" * 250}"}}', "INVALID_TOPIC_NAME", "usersTopic: a topic's name has at most 249"),
        ('{"usersTopic": "\\u001b[31m"}', "INVALID_TOPIC_NAME", "usersTopic: '\ufffd[31m' is not allowed"),
        ('{"usersTopic": "evertable.demo.control"}', "RESERVED_TOPIC", "usersTopic: 'evertable.demo.control' is the"),
        (
            '{"accountsTopic": "evertable.demo.g000001"}',
            "RESERVED_TOPIC",
            "accountsTopic: 'evertable.demo.g000001'",
        ),
    ],
    ids=lambda given: str(given)[:30],
)
def test_rejections(value: str | bytes | None, condition: str, sentence: str) -> None:
    """Each has a condition and a sentence that is safe to print."""
    resolution = rejected(value)
    assert (resolution.condition, resolution.sentence[: len(sentence)]) == (condition, sentence)
    assert resolution.sentence.isprintable()


def test_values_are_shown_as_they_were_sent() -> None:
    """Trimmed, but not canonical; empty differs from missing; other types are shown as JSON."""
    assert resolved({"usersTopic": " x ", "joinType": "LEFT Join"}).given == {
        "usersTopic": "x",
        "accountsTopic": None,
        "joinType": "LEFT Join",
    }
    assert resolved({"usersTopic": " ", "accountsTopic": None}).given == {
        "usersTopic": "",
        "accountsTopic": None,
        "joinType": None,
    }
    assert rejected('{"usersTopic": "a b", "joinType": {"ä": [1, null]}}').given == {
        "usersTopic": "a b",
        "accountsTopic": None,
        "joinType": '{"ä": [1, null]}',
    }
    assert rejected("no JSON").given == {"usersTopic": None, "accountsTopic": None, "joinType": None}


def test_long_values_are_truncated() -> None:
    """A message of a megabyte makes no row, sentence or warning of that size."""
    much = "y z" * 400_000
    resolution = rejected(json.dumps({"joinType": much, "usersTopic": [much]}))
    assert [len(text or "") for text in resolution.given.values()] == [MAX_SHOWN + 1, 0, MAX_SHOWN + 1]
    for message in ({"joinType": much}, {"usersTopic": "y z" * 60}):
        assert len(rejected(json.dumps(message)).sentence) < 200
    warnings = resolved({much: "", **{f"key{number}": "" for number in range(1_000)}}).warnings
    assert len(warnings) == MAX_WARNINGS + 1
    assert max(map(len, warnings)) < 200
    assert warnings[-1] == "991 more keys are unknown and have no effect"


def test_a_message_may_be_forced() -> None:
    assert not resolved({"joinType": "inner"}).force
    assert not resolved({"joinType": "inner", "force": None}).force
    assert resolved({"joinType": "inner", "force": True}).force
    resolution = resolve(b'{"joinType": "inner", "force": "yes"}', WANTED, KEYS)
    assert isinstance(resolution, Rejected)
    assert (resolution.condition, resolution.sentence) == (
        Condition.WRONG_TYPE,
        "force is a string; true, false or null is expected.",
    )


def test_unknown_keys_are_warnings() -> None:
    resolution = resolved({"userTopic": "x", "comment": ["hello"], "joinType": "inner"})
    assert (resolution.changed, resolution.wiring.left_topic) == (True, "users_v1")
    assert resolution.warnings == (
        "'userTopic' is unknown and has no effect; did you mean 'usersTopic'?",
        "'comment' is unknown and has no effect; known are usersTopic, accountsTopic, joinType, force",
    )


def test_keys_are_named_after_the_sources() -> None:
    """The keys are those of the two joined sources, in any order."""
    keys = keys_of(config("orders", "items", "people", join={"left": "people", "right": "orders"}))
    assert keys.names == ("peopleTopic", "ordersTopic", "joinType")
    resolution = resolve(b'{"peopleTopic": "p", "itemsTopic": "i"}', WANTED, keys)
    assert isinstance(resolution, Resolved)
    assert (resolution.wiring.left_topic, len(resolution.warnings)) == ("p", 1)
    keys = keys_of(config("a", "b", control={"enabled": False, "topic": "shared"}))
    assert isinstance(resolve(b'{"aTopic": "shared"}', WANTED, keys), Resolved)


def test_a_message_for_a_wiring() -> None:
    """A rollback writes such a message, which leads to the wiring from any other."""
    wiring = Wiring("a", "b", JoinType.ASOF)
    message = KEYS.message(wiring)
    assert message == {"usersTopic": "a", "accountsTopic": "b", "joinType": "asof"}
    assert resolved(message).wiring == wiring


def test_folding() -> None:
    """Messages are folded in the order of time, partition and offset, without rejected ones."""
    messages = [
        ControlMessage(1, 7, 20, b'{"joinType": "asof"}'),
        ControlMessage(0, 9, 10, b'{"usersTopic": "u1"}'),
        ControlMessage(0, 11, 20, b'{"joinType": "inner", "usersTopic": "u3"}'),
        ControlMessage(0, 10, 20, b'{"usersTopic": "u2"}'),
        ControlMessage(2, 0, 30, b"garbage"),
        ControlMessage(2, 1, 30, None),
        ControlMessage(2, 2, 30, b'{"usersTopic": "u3"}'),
    ]
    folded = fold(messages, WANTED, KEYS)
    assert folded.wiring == Wiring("u3", "accounts_v1", JoinType.ASOF)
    resolved = [
        (
            message.partition,
            message.offset,
            resolution.changed if isinstance(resolution, Resolved) else resolution.condition,
        )
        for message, resolution in folded.resolutions
    ]
    assert resolved == [
        (0, 9, True),
        (0, 10, True),
        (0, 11, True),
        (1, 7, True),
        (2, 0, Condition.NOT_JSON),
        (2, 1, Condition.NOT_JSON),
        (2, 2, False),
    ]


def test_folding_no_message_changes_nothing() -> None:
    folded = fold([], WANTED, KEYS)
    assert (folded.wiring, folded.resolutions) == (WANTED, ())


joins = st.sampled_from(["inner", " LEFT", "natural join", "aj", "outer", "", "l\u0131ft"])
topics = st.sampled_from(["a", " b ", "c" * 250, "..", "a b", "", "evertable.demo.g1"]) | st.text(max_size=5)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
objects = st.fixed_dictionaries(
    {},
    optional={
        "usersTopic": topics | anything,
        "accountsTopic": topics | anything,
        "joinType": joins | anything,
        "other": anything,
    },
)
values = st.one_of(
    st.none(),
    st.binary(max_size=50),
    anything.map(lambda value: json.dumps(value).encode()),
    objects.map(lambda value: json.dumps(value).encode()),
    objects.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.tuples(objects, st.integers(0, 60)).map(lambda cut: json.dumps(cut[0]).encode()[: cut[1]]),
)
wirings = st.builds(Wiring, st.just("a") | st.just("b"), st.just("b"), st.sampled_from(JoinType))


@settings(max_examples=500)
@given(values, wirings)
def test_any_message_is_resolved_or_rejected(value: bytes | None, wanted: Wiring) -> None:
    """Its descriptions are texts; applied a second time it changes nothing."""
    resolution = resolve(value, wanted, KEYS)
    texts = [text for text in resolution.given.values() if text is not None]
    assert tuple(resolution.given) == KEYS.names
    if isinstance(resolution, Rejected):
        assert resolution.condition.value in set(Condition)
        texts.append(resolution.sentence)
    else:
        assert resolution.changed == (resolution.wiring != wanted)
        assert CONFIG.rewired(resolution.wiring).wiring == resolution.wiring
        again = resolve(value, resolution.wiring, KEYS)
        assert again == Resolved(resolution.wiring, False, resolution.given, resolution.warnings)
        texts += resolution.warnings
    assert all(text.isprintable() and text.encode() is not None for text in texts)


@given(st.lists(st.builds(ControlMessage, st.integers(0, 2), st.integers(0, 9), st.integers(0, 3), values)), wirings)
def test_folding_is_resolving_one_by_one(messages: list[ControlMessage], wanted: Wiring) -> None:
    """The same holds for half of the messages, then the other half."""
    whole = fold(messages, wanted, KEYS)
    assert len(whole.resolutions) == len(messages)
    ordered = [message for message, _ in whole.resolutions]
    half = len(ordered) // 2
    assert fold(ordered[half:], fold(ordered[:half], wanted, KEYS).wiring, KEYS).wiring == whole.wiring
    for message, resolution in whole.resolutions:
        assert resolve(message.value, wanted, KEYS) == resolution
        wanted = resolution.wiring if isinstance(resolution, Resolved) else wanted


def test_the_document_names_every_condition() -> None:
    """docs/CONTROL.md lists exactly these."""
    page = (Path(__file__).parents[2] / "docs" / "CONTROL.md").read_text()
    table = page.split("| rejected because |")[1].split("\n\n")[0]
    assert {name for row in table.splitlines()[2:] for name in row.split("|")[1].split("`")[1::2]} == set(Condition)
