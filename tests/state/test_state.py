"""State records survive encoding, and unreadable ones are never guessed."""

from __future__ import annotations

import json

import pytest
from tests.state.examples import LIVE, OWNER, RECORDS, WIRING, control_result

import evertable
from evertable.errors import StateFormatError
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring
from evertable.state.records import (
    LONGEST_TEXT,
    ControlOffset,
    ControlResult,
    GenerationRow,
    Numbers,
    Record,
    decode,
    encode,
)
from evertable.state.state import KEPT_RESULTS, AppState, StateFold


def folded(*records: Record, memory: StateFold | None = None) -> AppState:
    memory = memory or StateFold()
    for record in records:
        memory.apply(record)
    return memory.state()


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
    assert [(each.offset, each.result) for each in state.control_results] == [(17, "rejected")]
    assert state.owner == OWNER
    assert [(row.generation, row.rows) for row in state.generations] == [(7, 1_100_000)]


def test_nothing_is_remembered_at_first() -> None:
    assert folded() == AppState()


def test_the_newest_record_of_a_key_counts() -> None:
    """A pending message appears once, and the order is that of the messages."""
    state = folded(
        control_result(2, "pending"), control_result(1), Numbers(1, 1), control_result(2, "failed"), Numbers(2, 1)
    )
    assert [(each.offset, each.result) for each in state.control_results] == [(1, "applied"), (2, "failed")]
    assert state.last_generation == 2


def test_new_records_decide_which_are_too_old_to_be_kept() -> None:
    memory = StateFold(kept_results=2, kept_generations=1)
    folded(control_result(1), control_result(2), GenerationRow(1, WIRING, "retired", ""), memory=memory)
    assert memory.too_old() == set()
    coming: list[Record] = [control_result(0), control_result(3), GenerationRow(2, WIRING, "live", "")]
    assert memory.too_old(coming) == {"verdict/0/0", "verdict/0/1", "generation/1"}


def test_forgotten_records_are_gone() -> None:
    memory = StateFold()
    folded(*RECORDS, memory=memory)
    memory.forget(record.key for record in RECORDS)
    assert memory.state() == AppState()


def test_long_texts_of_control_messages_are_cut() -> None:
    """A message may have a megabyte, and the newest 10,000 are kept."""
    long = ControlResult(0, 1, 1, {"usersTopic": "x" * 1_000_000}, "rejected", "y" * 1_000_000)
    assert len(encode(long)) < 3 * LONGEST_TEXT
    assert len(encode(long)) * KEPT_RESULTS < 1 << 25


def changed(record: Record, **values: object) -> bytes:
    return json.dumps({**json.loads(encode(record)), **values}).encode()


def test_another_format_is_an_error_that_names_the_version_that_wrote_it() -> None:
    with pytest.raises(StateFormatError) as refused:
        decode("live", changed(LIVE, format=2, by="9.1"))
    assert str(refused.value) == (
        f"[STATE_FORMAT] The state record 'live' was written by Evertable 9.1, in format 2, which "
        f"{evertable.__version__} does not know. Run that version, or set another app or changelog.prefix for this one."
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
