"""Control messages: what one of them requests, and what a series of them results in.

docs/CONTROL.md has the rules.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NoReturn

from evertable.config.models import Config
from evertable.config.names import OwnTopics, topic
from evertable.problems import nearest, printable
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring

JOIN = "joinType"
FORCE = "force"
MAX_SHOWN = 300
"""How many characters of a value are kept, so that ten thousand rows of ``control_raw`` stay small."""
MAX_WARNINGS = 10


class Condition(StrEnum):
    """Why a message is rejected."""

    NOT_JSON = "NOT_JSON"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    WRONG_TYPE = "WRONG_TYPE"
    UNKNOWN_JOIN_TYPE = "UNKNOWN_JOIN_TYPE"
    INVALID_TOPIC_NAME = "INVALID_TOPIC_NAME"
    RESERVED_TOPIC = "RESERVED_TOPIC"
    TOPIC_NOT_FOUND = "TOPIC_NOT_FOUND"


Given = Mapping[str, str | None]
"""The message's value for each known key: trimmed, cut and printable; JSON if it is no string; None if absent."""


@dataclass(frozen=True)
class ControlMessage:
    """A record of the control topic; ``timestamp`` is in epoch milliseconds."""

    partition: int
    offset: int
    timestamp: int
    value: bytes | None


@dataclass(frozen=True)
class ControlKeys:
    """The keys of this app's control messages, and the topics that a message must not name."""

    left: str
    right: str
    own: OwnTopics

    @property
    def names(self) -> tuple[str, str, str]:
        """All keys, in the order of ``control_raw``'s columns."""
        return self.left, self.right, JOIN

    def message(self, wiring: Wiring) -> dict[str, str]:
        """Returns the control message that requests exactly ``wiring``, whatever the wiring was before."""
        return {self.left: wiring.left_topic, self.right: wiring.right_topic, JOIN: wiring.join.value}


@dataclass(frozen=True)
class Resolved:
    """The wiring that a valid message requests; ``changed`` if it differs from the one before."""

    wiring: Wiring
    changed: bool
    given: Given
    warnings: tuple[str, ...] = ()
    force: bool = False
    """Whether the swap goes live even if its data look wrong."""


@dataclass(frozen=True)
class Rejected:
    """An invalid message, which changes nothing, and why."""

    condition: Condition
    sentence: str
    given: Given


Resolution = Resolved | Rejected


@dataclass(frozen=True)
class FoldedMessages:
    """The wiring after a series of messages, and the resolution of each, in their order."""

    wiring: Wiring
    resolutions: tuple[tuple[ControlMessage, Resolution], ...]


def keys_of(config: Config) -> ControlKeys:
    """Returns the keys, which are named after the two joined sources: ``usersTopic``."""
    return ControlKeys(f"{config.left.name}Topic", f"{config.right.name}Topic", config.own_topics)


def in_order(messages: Iterable[ControlMessage]) -> list[ControlMessage]:
    """Sorts the messages of all partitions into the one order that every reader uses."""
    return sorted(messages, key=lambda message: (message.timestamp, message.partition, message.offset))


def fold(messages: Iterable[ControlMessage], wiring: Wiring, keys: ControlKeys) -> FoldedMessages:
    """Applies all messages to ``wiring`` in order; rejected ones change nothing."""
    resolutions: list[tuple[ControlMessage, Resolution]] = []
    for message in in_order(messages):
        resolution = resolve(message.value, wiring, keys)
        resolutions.append((message, resolution))
        if isinstance(resolution, Resolved):
            wiring = resolution.wiring
    return FoldedMessages(wiring, tuple(resolutions))


def resolve(value: bytes | None, current: Wiring, keys: ControlKeys) -> Resolution:
    """Resolves a message against the current wiring; never raises, whatever the bytes."""
    nothing: dict[str, str | None] = dict.fromkeys(keys.names)
    try:
        fields = _parse(value)
    except ValueError as error:
        return Rejected(Condition.NOT_JSON, str(error), nothing)
    if not isinstance(fields, dict):
        what = f'The value is JSON, but {_KINDS[type(fields)]} and not an object such as {{"{JOIN}": "inner"}}.'
        return Rejected(Condition.NOT_AN_OBJECT, what, nothing)
    given = {key: _shown(fields.get(key)) for key in keys.names}
    for key in (*keys.names, FORCE):
        kind, words = (bool, "true, false") if key == FORCE else (str, "a string")
        if not isinstance(fields.get(key), kind | None):
            what = f"{key} is {_KINDS[type(fields[key])]}; {words} or null is expected."
            return Rejected(Condition.WRONG_TYPE, what, given)
    texts = {key: (fields.get(key) or "").strip() for key in keys.names}
    try:
        wiring = _rewired(current, texts, keys)
    except _RefusedError as refused:
        return Rejected(refused.condition, refused.sentence, given)
    return Resolved(wiring, wiring != current, given, tuple(_warnings(fields, keys)), bool(fields.get(FORCE)))


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
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
    """Parses the JSON value; the text of a ValueError is a sentence for the user."""
    if value is None:
        raise ValueError("The message has no value (a tombstone).")
    if not value.strip():
        raise ValueError("The value is empty.")
    if value.startswith(BOM_UTF8):
        raise ValueError("The value begins with a byte order mark (BOM, EF BB BF). Send UTF-8 without one.")
    try:
        return json.loads(value.decode(), parse_int=_number, parse_constant=_not_json)
    except UnicodeDecodeError as error:
        raise ValueError(f"The value is not UTF-8: byte {error.start} is invalid.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"The value is not JSON: {error.msg}, at character {error.pos}.") from None
    except RecursionError:
        raise ValueError("The value is not JSON that can be read: it is nested too deeply.") from None


def _number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # Python rejects integers of more than some thousand digits
        return float(digits)


def _not_json(word: str) -> NoReturn:
    raise ValueError(f"The value is not JSON: {word} is not a JSON number.")


def _rewired(wiring: Wiring, texts: Mapping[str, str], keys: ControlKeys) -> Wiring:
    if text := texts[keys.left]:
        wiring = replace(wiring, left_topic=_topic(keys.left, text, keys.own))
    if text := texts[keys.right]:
        wiring = replace(wiring, right_topic=_topic(keys.right, text, keys.own))
    if text := texts[JOIN]:
        try:
            wiring = replace(wiring, join=JoinType.parse(text))
        except ValueError:
            what = f"{JOIN}: '{_cut(text)}' is no join type; known are {', '.join(JoinType)}."
            raise _RefusedError(Condition.UNKNOWN_JOIN_TYPE, what) from None
    return wiring


def _topic(key: str, text: str, own: OwnTopics) -> str:
    try:
        topic(text)
    except ValueError as error:
        what = str(error).replace(text, _cut(text))
        raise _RefusedError(Condition.INVALID_TOPIC_NAME, f"{key}: {what}.") from None
    if role := own.role(text):
        raise _RefusedError(Condition.RESERVED_TOPIC, f"{key}: '{text}' is {role}; name a topic of your own.")
    return text


def _warnings(fields: Mapping[str, object], keys: ControlKeys) -> Iterator[str]:
    known = (*keys.names, FORCE)
    unknown = [key for key in fields if key not in known]
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
