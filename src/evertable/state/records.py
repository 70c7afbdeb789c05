"""The records of the state topic, in JSON; docs/STATE.md documents the format.

The key names what a record describes (``live``, ``verdict/0/17``). The newest record of a key counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from pydantic import TypeAdapter, ValidationError

import evertable
from evertable.errors import StateFormatError
from evertable.schema.wiring import Wiring
from evertable.state.identity import Identity

FORMAT = 1
LONGEST_TEXT = 1_000
"""How many characters of a control message's text are kept."""


@dataclass(frozen=True)
class StoredRecord:
    """A record as it is stored in the topic; ``value`` is None if the key was deleted."""

    key: str
    value: bytes | None
    offset: int
    at_ms: int
    """When the broker wrote it, by its clock."""


class Record(Protocol):
    """A decoded record."""

    @property
    def key(self) -> str: ...


@dataclass(frozen=True)
class LiveRecord:
    """The live generation, with all that is needed to resume it; times are ISO-8601 in UTC."""

    key: ClassVar[str] = "live"
    generation: int
    wiring: Wiring
    identity: Identity
    changelog_topic: str
    max_message_bytes: int
    checkpoint: str
    created: str
    published: str


@dataclass(frozen=True)
class ChangelogRecord:
    """The end of the live generation's changelog at a commit. Only earlier versions write and use it."""

    key: ClassVar[str] = "changelog"
    generation: int
    topic_id: str | None
    ends: Mapping[int, int]


@dataclass(frozen=True)
class PreviousWiring:
    """The wiring that was live before, the target of a rollback."""

    key: ClassVar[str] = "previous"
    wiring: Wiring


@dataclass(frozen=True)
class Numbers:
    """The last numbers in use, so that none is used twice."""

    key: ClassVar[str] = "numbers"
    last_generation: int
    publication: int


@dataclass(frozen=True)
class ControlOffset:
    """The position in one partition of the control topic: the offset to read next."""

    partition: int
    next: int
    topic_id: str | None = None
    """The control topic's id, since offsets belong to one topic; None if the broker has no ids."""
    topic: str = ""
    """The control topic's name; empty in records of earlier versions."""

    @property
    def key(self) -> str:
        return f"control/{self.partition}"


@dataclass(frozen=True)
class ControlResult:
    """A control message and its result; long texts are cut."""

    partition: int
    offset: int
    ts: int
    """The message's Kafka timestamp."""
    given: Mapping[str, str | None]
    result: str
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", {name: text and _cut(text) for name, text in self.given.items()})
        object.__setattr__(self, "reason", _cut(self.reason))

    @property
    def key(self) -> str:
        return f"verdict/{self.partition}/{self.offset}"

    @property
    def place(self) -> tuple[int, int, int]:
        """Its position in the order of all messages."""
        return self.ts, self.partition, self.offset


@dataclass(frozen=True)
class GenerationRow:
    """One row of the table ``generations``; times are ISO-8601 in UTC, empty if that did not happen."""

    generation: int
    wiring: Wiring
    state: str
    created: str
    published: str = ""
    retired: str = ""
    rows: int = 0
    reason: str = ""
    query_id: str = ""
    run_id: str = ""

    @property
    def key(self) -> str:
        return f"generation/{self.generation}"


@dataclass(frozen=True)
class Owner:
    """An orchestrator that claims the app, and repeats this record every second as its heartbeat."""

    id: str
    host: str
    pid: int
    started: str
    claimed: int | None = None
    """The offset of its claim; None in the claim itself."""
    leaving: bool = False
    """Whether it has begun to stop; it deletes this record when it has stopped."""
    address: str = ""
    """The address of its server; empty in records of earlier versions."""

    @property
    def key(self) -> str:
        return f"owner/{self.id}"

    def __str__(self) -> str:
        address = f", at {self.address}" if self.address else ""
        return f"process {self.pid} on {self.host}{address}, started {self.started}"


@dataclass(frozen=True)
class LastOwner:
    """The owner that took over last, written before anything else; it remains after that owner has left."""

    key: ClassVar[str] = "last-owner"
    owner: Owner


def encode(record: Record) -> bytes:
    """Encodes a record's value."""
    values = _KINDS[_kind(record.key)].dump_python(record, mode="json")
    return json.dumps({"format": FORMAT, "by": evertable.__version__, **values}, separators=(",", ":")).encode()


def decode(name: str, value: bytes) -> Record:
    """Decodes a value; raises StateFormatError, which names the version that wrote it, if this one cannot read it."""
    try:
        values = json.loads(value)
        form, by = values.pop("format"), values.pop("by")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StateFormatError(f"The state record '{name}' was not written by Evertable.", _NEXT) from None
    kind = _KINDS.get(_kind(name))
    if form != FORMAT or kind is None:
        what = f"in format {form}, which" if kind else "and its kind is one that"
        raise StateFormatError(
            f"The state record '{name}' was written by Evertable {by}, {what} {evertable.__version__} does not know.",
            _NEXT,
        )
    try:
        record: Record = kind.validate_python(values)
        if unknown := values.keys() - kind.dump_python(record).keys():
            raise ValueError(f"{min(unknown)} is unknown")
    except ValueError as error:
        raise StateFormatError(
            f"The state record '{name}' by Evertable {by} is damaged: {_summary(error)}.", _NEXT
        ) from None
    return record


_NEXT = "Run that version, or set another app or changelog.prefix for this one."
_KINDS: dict[str, TypeAdapter[Any]] = {
    "live": TypeAdapter(LiveRecord),
    "changelog": TypeAdapter(ChangelogRecord),
    "previous": TypeAdapter(PreviousWiring),
    "numbers": TypeAdapter(Numbers),
    "control": TypeAdapter(ControlOffset),
    "verdict": TypeAdapter(ControlResult),
    "generation": TypeAdapter(GenerationRow),
    "owner": TypeAdapter(Owner),
    "last-owner": TypeAdapter(LastOwner),
}


def _summary(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"


def is_about_owners(key: str) -> bool:
    """Returns whether a record concerns the ownership of the app."""
    return _kind(key) in ("owner", "last-owner")


def _kind(key: str) -> str:
    return key.partition("/")[0]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
