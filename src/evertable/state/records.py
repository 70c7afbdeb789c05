"""What the state topic holds: one JSON record for each thing to remember, as docs/STATE.md has it.

The key says what a record is about (``live``, ``verdict/0/17``), the value what is so; the newest of a key counts.
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
"""Characters that are kept of what a control message said."""


class Record(Protocol):
    """One thing to remember."""

    @property
    def key(self) -> str: ...


@dataclass(frozen=True)
class LiveRecord:
    """The live generation, and what resuming it takes; times are ISO-8601 in UTC."""

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
    """The live generation's changelog at its last known commit: one that is shorter by now has lost records."""

    key: ClassVar[str] = "changelog"
    generation: int
    topic_id: str | None
    ends: Mapping[int, int]


@dataclass(frozen=True)
class PreviousWiring:
    """What was live before: where a rollback goes."""

    key: ClassVar[str] = "previous"
    wiring: Wiring


@dataclass(frozen=True)
class Numbers:
    """The last numbers that were given, so that none is given twice."""

    key: ClassVar[str] = "numbers"
    last_generation: int
    publication: int


@dataclass(frozen=True)
class ControlOffset:
    """Up to where a partition of the control topic was read: the offset that is next."""

    partition: int
    next: int
    topic_id: str | None = None
    """Of the control topic; another one has other offsets. None if the broker tells none."""
    topic: str = ""
    """The control topic's name; empty in records of earlier versions."""

    @property
    def key(self) -> str:
        return f"control/{self.partition}"


@dataclass(frozen=True)
class ControlResult:
    """A control message, and what became of it. Long texts are cut."""

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
        """Where it stands among the others."""
        return self.ts, self.partition, self.offset


@dataclass(frozen=True)
class GenerationRow:
    """One row of the table ``generations``; times are ISO-8601 in UTC, empty where it did not come to that."""

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
    """An orchestrator that claims the app; it says so again every second, for as long as it runs."""

    id: str
    host: str
    pid: int
    started: str
    claimed: int | None = None
    """The offset of its claim; None in the claim itself."""
    leaving: bool = False
    """It has begun to stop, and will say when that is done."""
    address: str = ""
    """Where its server listens; empty in records of earlier versions."""

    @property
    def key(self) -> str:
        return f"owner/{self.id}"

    def __str__(self) -> str:
        address = f", at {self.address}" if self.address else ""
        return f"process {self.pid} on {self.host}{address}, started {self.started}"


@dataclass(frozen=True)
class LastOwner:
    """Who took the app over last, before it wrote anything else; it is remembered when that one has left."""

    key: ClassVar[str] = "last-owner"
    owner: Owner


def encode(record: Record) -> bytes:
    """The record's value."""
    values = _KINDS[_kind(record.key)].dump_python(record, mode="json")
    return json.dumps({"format": FORMAT, "by": evertable.__version__, **values}, separators=(",", ":")).encode()


def decode(name: str, value: bytes) -> Record:
    """The record that ``encode`` wrote. StateFormatError names the version that wrote what this one cannot read."""
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
            f"The state record '{name}' by Evertable {by} is damaged: {_in_short(error)}.", _NEXT
        ) from None
    return record


_NEXT = "Run that version, or give this one another app or changelog.prefix."
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


def _in_short(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"


def about_owners(key: str) -> bool:
    """Whether a record is one of those that tell who owns the app."""
    return _kind(key) in ("owner", "last-owner")


def _kind(key: str) -> str:
    return key.partition("/")[0]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
