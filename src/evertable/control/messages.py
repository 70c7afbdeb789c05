"""Control messages: what one asks for, and what a series of them comes to. docs/CONTROL.md has the rules."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NoReturn

from evertable.config.models import Config
from evertable.config.names import OwnTopics, topic
from evertable.problems import nearest
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring

JOIN = "joinType"
FORCE = "force"
MAX_SHOWN = 300
"""Characters of a value, so that ten thousand rows of ``control_raw`` stay small whatever was sent."""
MAX_WARNINGS = 10


class Condition(StrEnum):
    """Why a message is rejected; the last three are found out when its generation is to be built."""

    NOT_JSON = "NOT_JSON"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    WRONG_TYPE = "WRONG_TYPE"
    UNKNOWN_JOIN_TYPE = "UNKNOWN_JOIN_TYPE"
    INVALID_TOPIC_NAME = "INVALID_TOPIC_NAME"
    RESERVED_TOPIC = "RESERVED_TOPIC"
    TOPIC_NOT_FOUND = "TOPIC_NOT_FOUND"


Given = Mapping[str, str | None]
"""For each known key, what the message said: trimmed, cut and printable; JSON where it is no text; None if nothing."""


@dataclass(frozen=True)
class ControlMessage:
    """A record of the control topic; ``timestamp`` in Kafka's milliseconds."""

    partition: int
    offset: int
    timestamp: int
    value: bytes | None


@dataclass(frozen=True)
class ControlKeys:
    """What the keys of a control message are called here, and the topics that none may name."""

    left: str
    right: str
    own: OwnTopics

    @property
    def names(self) -> tuple[str, str, str]:
        """All of them, in the order of ``control_raw``'s columns."""
        return self.left, self.right, JOIN

    def message(self, wiring: Wiring) -> dict[str, str]:
        """The control message that asks for ``wiring``, whatever is wanted before it."""
        return {self.left: wiring.left_topic, self.right: wiring.right_topic, JOIN: wiring.join.value}


@dataclass(frozen=True)
class Resolved:
    """What a message asks for, all told; ``changed`` if it differs from what was wanted before."""

    wiring: Wiring
    changed: bool
    given: Given
    warnings: tuple[str, ...] = ()
    force: bool = False
    """Whether it goes live even if what it shows looks wrong."""


@dataclass(frozen=True)
class Rejected:
    """A message that changes nothing, and why."""

    condition: Condition
    sentence: str
    given: Given


Verdict = Resolved | Rejected


@dataclass(frozen=True)
class Folded:
    """Where a series of messages leads, and what is to be said of each, in their order."""

    wiring: Wiring
    verdicts: tuple[tuple[ControlMessage, Verdict], ...]


def keys_of(config: Config) -> ControlKeys:
    """The keys are named after the two sources that are joined: ``usersTopic``."""
    return ControlKeys(f"{config.left.name}Topic", f"{config.right.name}Topic", config.own_topics)


def in_order(messages: Iterable[ControlMessage]) -> list[ControlMessage]:
    """Messages of all partitions in the one order that all agree on."""
    return sorted(messages, key=lambda message: (message.timestamp, message.partition, message.offset))


def fold(messages: Iterable[ControlMessage], wanted: Wiring, keys: ControlKeys) -> Folded:
    """What is wanted after all these messages; those that are rejected change nothing."""
    verdicts: list[tuple[ControlMessage, Verdict]] = []
    for message in in_order(messages):
        verdict = resolve(message.value, wanted, keys)
        verdicts.append((message, verdict))
        if isinstance(verdict, Resolved):
            wanted = verdict.wiring
    return Folded(wanted, tuple(verdicts))


def resolve(value: bytes | None, wanted: Wiring, keys: ControlKeys) -> Verdict:
    """What a message means when ``wanted`` was wanted before it; whatever the bytes, never an exception."""
    nothing: dict[str, str | None] = dict.fromkeys(keys.names)
    try:
        said = _parse(value)
    except ValueError as error:
        return Rejected(Condition.NOT_JSON, str(error), nothing)
    if not isinstance(said, dict):
        what = f'The value is JSON, but {_KINDS[type(said)]} and not an object such as {{"{JOIN}": "inner"}}.'
        return Rejected(Condition.NOT_AN_OBJECT, what, nothing)
    given = {key: _shown(said.get(key)) for key in keys.names}
    texts: dict[str, str] = {}
    for key in keys.names:
        text = said.get(key)
        if not isinstance(text, str | None):
            what = f"{key} is {_KINDS[type(text)]}; a text or null is expected."
            return Rejected(Condition.WRONG_TYPE, what, given)
        texts[key] = (text or "").strip()
    force = said.get(FORCE)
    if not isinstance(force, bool | None):
        what = f"{FORCE} is {_KINDS[type(force)]}; true, false or null is expected."
        return Rejected(Condition.WRONG_TYPE, what, given)
    try:
        wiring = _rewired(wanted, texts, keys)
    except _RefusedError as refused:
        return Rejected(refused.condition, refused.sentence, given)
    return Resolved(wiring, wiring != wanted, given, tuple(_warnings(said, keys)), bool(force))


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


class _RefusedError(Exception):
    def __init__(self, condition: Condition, sentence: str) -> None:
        self.condition = condition
        self.sentence = printable(sentence)


def _parse(value: bytes | None) -> Any:
    """The JSON value; ValueError is a sentence."""
    if value is None:
        raise ValueError("The message has no value (a tombstone).")
    if not value.strip():
        raise ValueError("The value is empty.")
    if value.startswith(BOM_UTF8):
        raise ValueError("The value begins with a byte order mark (BOM, EF BB BF). Send UTF-8 without one.")
    try:
        return json.loads(value.decode(), parse_int=_number, parse_constant=_not_json)
    except UnicodeDecodeError as error:
        raise ValueError(f"The value is not UTF-8: byte {error.start} fits nowhere.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"The value is not JSON: {error.msg}, at character {error.pos}.") from None
    except RecursionError:
        raise ValueError("The value is not JSON that can be read: it is nested too deeply.") from None


def _number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # Python reads no whole number of more than some thousand digits
        return float(digits)


def _not_json(word: str) -> NoReturn:
    raise ValueError(f"The value is not JSON: {word} is no number there.")


def _rewired(wanted: Wiring, texts: Mapping[str, str], keys: ControlKeys) -> Wiring:
    if text := texts[keys.left]:
        wanted = replace(wanted, left_topic=_topic(keys.left, text, keys.own))
    if text := texts[keys.right]:
        wanted = replace(wanted, right_topic=_topic(keys.right, text, keys.own))
    if text := texts[JOIN]:
        try:
            wanted = replace(wanted, join=JoinType.parse(text))
        except ValueError:
            what = f"{JOIN}: '{_cut(text)}' is no join type; known are {', '.join(JoinType)}."
            raise _RefusedError(Condition.UNKNOWN_JOIN_TYPE, what) from None
    return wanted


def _topic(key: str, text: str, own: OwnTopics) -> str:
    try:
        topic(text)
    except ValueError as error:
        what = str(error).replace(text, _cut(text))
        raise _RefusedError(Condition.INVALID_TOPIC_NAME, f"{key}: {what}.") from None
    if role := own.role(text):
        raise _RefusedError(Condition.RESERVED_TOPIC, f"{key}: '{text}' is {role}; name a topic of your own.")
    return text


def _warnings(said: Mapping[str, object], keys: ControlKeys) -> Iterator[str]:
    known = (*keys.names, FORCE)
    unknown = [key for key in said if key not in known]
    for key in unknown[:MAX_WARNINGS]:
        word = _cut(key)
        yield printable(f"'{word}' is unknown and has no effect; {nearest(word, known)}")
    if (more := len(unknown) - MAX_WARNINGS) > 0:
        yield f"{more} more keys are unknown and have no effect"


def _shown(value: object) -> str | None:
    if value is None:
        return None
    try:
        text = value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        text = "…"
    return printable(_cut(text, MAX_SHOWN))


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def printable(text: str) -> str:
    """Without what would move a cursor, and without what is no Unicode text (half of a surrogate pair)."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
