"""What the orchestrator remembers survives being written down, and is never guessed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.generations.cases import identity

import evertable
from evertable.errors import StateFormatError
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring
from evertable.state.records import (
    LONGEST_TEXT,
    ControlOffset,
    ControlResult,
    GenerationRow,
    LastOwner,
    LiveRecord,
    Numbers,
    Owner,
    PreviousWiring,
    Record,
    decode,
    encode,
)
from evertable.state.state import KEPT_VERDICTS, AppState, StateFold

WIRING = Wiring("u1", "a1", JoinType.ASOF)
LIVE = LiveRecord(
    generation=7,
    wiring=WIRING,
    identity=identity(),
    changelog_topic="evertable.demo.g000007",
    max_message_bytes=2_097_176,
    checkpoint="/checkpoints/7",
    created="2026-01-31T09:00:00+00:00",
    published="2026-01-31T09:00:05+00:00",
)
RECORDS: list[Record] = [
    LIVE,
    PreviousWiring(replace(WIRING, join=JoinType.INNER)),
    Numbers(last_generation=8, publication=12),
    ControlOffset(0, 5_000_000_000),
    ControlOffset(3, 1, "id-of-the-topic", "evertable.demo.control"),
    ControlResult(0, 17, 1_700_000_000_000, {"usersTopic": " Ü2 ", "joinType": None}, "rejected", "No such topic."),
    GenerationRow(7, WIRING, "live", "2026-01-31T09:00:00+00:00", rows=1_100_000, query_id="q", run_id="r"),
    LastOwner(Owner("f00", "a-host", 4711, "2026-01-31T08:59:00+00:00", claimed=3)),
    Owner("f00", "a-host", 4711, "2026-01-31T08:59:00+00:00", claimed=3, leaving=True),
]


def folded(*records: Record, memory: StateFold | None = None) -> AppState:
    memory = memory or StateFold()
    for record in records:
        memory.apply(record)
    return memory.state()


def verdict(number: int, result: str = "applied") -> ControlResult:
    return ControlResult(0, number, number, {"usersTopic": f"u{number}"}, result)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.key)
def test_a_record_is_read_back_as_it_was(record: Record) -> None:
    assert decode(record.key, encode(record)) == record


def test_offsets_of_earlier_versions_are_read() -> None:
    """They were written without the topic's id and name."""
    old = b'{"format": 1, "by": "0.0.9", "partition": 3, "next": 12}'
    assert decode("control/3", old) == ControlOffset(3, 12, None)


def test_records_fold_into_what_is_remembered() -> None:
    state = folded(*RECORDS)
    assert (state.live, state.previous) == (LIVE, Wiring("u1", "a1", JoinType.INNER))
    assert (state.last_generation, state.publication) == (8, 12)
    assert {each.partition: each.next for each in state.control.values()} == {0: 5_000_000_000, 3: 1}
    assert state.control[3] == ControlOffset(3, 1, "id-of-the-topic", "evertable.demo.control")
    assert [(each.offset, each.result) for each in state.verdicts] == [(17, "rejected")]
    assert state.owner == Owner("f00", "a-host", 4711, "2026-01-31T08:59:00+00:00", claimed=3)
    assert [(row.generation, row.rows) for row in state.generations] == [(7, 1_100_000)]


def test_nothing_is_remembered_at_first() -> None:
    assert folded() == AppState()


def test_the_newest_record_of_a_key_counts() -> None:
    """A message that was pending is not there twice, and order is that of the messages."""
    state = folded(verdict(2, "pending"), verdict(1), Numbers(1, 1), verdict(2, "failed"), Numbers(2, 1))
    assert [(each.offset, each.result) for each in state.verdicts] == [(1, "applied"), (2, "failed")]
    assert state.last_generation == 2


def test_what_is_too_old_to_be_kept_is_told_with_what_is_coming() -> None:
    memory = StateFold(kept_verdicts=2, kept_generations=1)
    folded(verdict(1), verdict(2), GenerationRow(1, WIRING, "retired", ""), memory=memory)
    assert memory.too_old() == set()
    coming: list[Record] = [verdict(0), verdict(3), GenerationRow(2, WIRING, "live", "")]
    assert memory.too_old(coming) == {"verdict/0/0", "verdict/0/1", "generation/1"}


def test_what_was_forgotten_is_gone() -> None:
    memory = StateFold()
    folded(*RECORDS, memory=memory)
    memory.forget(record.key for record in RECORDS)
    assert memory.state() == AppState()


def test_long_texts_of_control_messages_are_cut() -> None:
    """Kafka takes a message of a megabyte, and the newest 10,000 of them are remembered."""
    long = ControlResult(0, 1, 1, {"usersTopic": "x" * 1_000_000}, "rejected", "y" * 1_000_000)
    assert len(encode(long)) < 3 * LONGEST_TEXT
    assert len(encode(long)) * KEPT_VERDICTS < 1 << 25


def changed(record: Record, **values: object) -> bytes:
    return json.dumps({**json.loads(encode(record)), **values}).encode()


def test_another_format_is_an_error_that_names_the_version_that_wrote_it() -> None:
    with pytest.raises(StateFormatError) as refused:
        decode("live", changed(LIVE, format=2, by="9.1"))
    assert str(refused.value) == (
        f"[STATE_FORMAT] The state record 'live' was written by Evertable 9.1, in format 2, which "
        f"{evertable.__version__} does not know. Run that version, or give this one another app or changelog.prefix."
    )


def test_another_kind_is_an_error_that_names_the_version_that_wrote_it() -> None:
    with pytest.raises(StateFormatError, match=r"'lock/3' was written by Evertable 9\.1, and its kind is one that"):
        decode("lock/3", changed(Numbers(1, 1), by="9.1"))


@pytest.mark.parametrize("value", [b"", b"\xff", b"7", b"[]", b"{}", b'{"format":1}', b'{"by":"1"}'])
def test_what_is_no_record_at_all_is_an_error(value: bytes) -> None:
    with pytest.raises(StateFormatError, match="'numbers' was not written by Evertable"):
        decode("numbers", value)


@pytest.mark.parametrize(
    "value",
    [
        changed(LIVE, generation="seven"),
        changed(LIVE, wiring={"left_topic": "x"}),
        changed(LIVE, wiring={"left_topic": "x", "right_topic": "y", "join": "sideways"}),
        changed(LIVE, identity=None),
        changed(LIVE, unheard_of=1),
    ],
)
def test_a_damaged_record_is_an_error(value: bytes) -> None:
    with pytest.raises(StateFormatError, match=r"'live' by Evertable .* is damaged"):
        decode("live", value)
