"""Barriers show how far a changelog is complete: what a generation may be shown by, and resumed from."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.changelog.encoder import Encoder, SourceRef

from evertable.changelog.changes import Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.positions import Backlog, CatchUpProgress, ResumeCheck, SourcePositions
from evertable.changelog.schema import ChangelogSchema, Side, SourcePartition
from evertable.errors import ChangelogError
from evertable.schema.columns import Column, ColumnType
from evertable.schema.joins import JoinType

LEFT, RIGHT = Side.LEFT, Side.RIGHT
COLUMNS = (Column("userId", ColumnType.parse("string")),)
SCHEMA = ChangelogSchema(COLUMNS, COLUMNS, JoinType.INNER)
ENCODER = Encoder(SCHEMA)


def row(side: Side, partition: int, offset: int) -> bytes:
    return ENCODER.row(SourceRef(side, partition, offset, 0), [None])


def changes(*messages: bytes) -> Changes:
    return Decoder(SCHEMA).decode(messages)


def read(*messages: bytes) -> SourcePositions:
    positions = SourcePositions()
    positions.add(changes(*messages))
    return positions


def test_rows_and_rejects_move_what_was_reached_and_barriers_what_is_complete() -> None:
    positions = read(row(LEFT, 0, 7), ENCODER.reject(SourceRef(RIGHT, 2, 4, 0), "INVALID_JSON: no", b""))
    assert positions.reached == {(LEFT, 0): 8, (RIGHT, 2): 5}
    assert positions.complete == {}
    positions.add(changes(ENCODER.barrier({(LEFT, 0): 9, (RIGHT, 2): 3, (RIGHT, 5): 0})))
    assert positions.reached == {(LEFT, 0): 9, (RIGHT, 2): 5, (RIGHT, 5): 0}
    assert positions.complete == {(LEFT, 0): 9, (RIGHT, 2): 3, (RIGHT, 5): 0}


def test_a_barrier_is_needed_in_every_channel() -> None:
    """The rows before it in another partition of the changelog, or of another bucket, may still come."""
    positions = read(ENCODER.barrier({(LEFT, 0): 5}, 0, 2))
    assert positions.complete == {}
    positions.add(changes(ENCODER.barrier({(LEFT, 0): 3, (LEFT, 1): 1}, 1, 2)))
    assert positions.complete == {(LEFT, 0): 3}
    positions.add(changes(ENCODER.barrier({(LEFT, 1): 1}, 0, 2)))  # of another reader
    assert positions.complete == {(LEFT, 0): 3, (LEFT, 1): 1}


Said = tuple[int, dict[SourcePartition, int]]
places = st.tuples(st.sampled_from(Side), st.integers(0, 1))
barriers = st.lists(st.tuples(st.integers(0, 2), st.dictionaries(places, st.integers(0, 9))))


@given(barriers, st.randoms(use_true_random=False))
def test_the_order_and_the_number_of_barriers_do_not_matter(said: list[Said], rng: random.Random) -> None:
    """A replayed epoch sends some again; what is complete only grows."""

    def complete(order: list[Said]) -> list[dict[SourcePartition, int]]:
        positions, found = SourcePositions(), []
        for channel, ends in order:
            positions.add(changes(ENCODER.barrier(ends, channel, 3)))
            found.append(dict(positions.complete))
        return found

    in_order = complete(said)
    again = [*said, *rng.choices(said, k=len(said))] if said else []
    rng.shuffle(again)
    assert complete(again)[-1:] == in_order[-1:]
    assert all(after.get(place, 0) >= end for before, after in pairwise(in_order) for place, end in before.items())


def test_a_backlog_is_read_when_it_is_complete() -> None:
    """Its last rows are not enough: with several buckets they may precede earlier ones."""
    backlog = Backlog({(LEFT, 0): 2, (RIGHT, 1): 0}, {(LEFT, 0): 6, (RIGHT, 1): 4})
    positions = read(row(LEFT, 0, 5), row(RIGHT, 1, 3))
    assert backlog.progress(positions).fraction == 1
    assert not backlog.is_read(positions)
    positions.add(changes(ENCODER.barrier({(LEFT, 0): 6, (RIGHT, 1): 3})))
    assert not backlog.is_read(positions)
    positions.add(changes(ENCODER.barrier({(RIGHT, 1): 4})))
    assert backlog.is_read(positions)


def test_an_empty_backlog_is_read_at_once() -> None:
    """There is none with start: latest, or with empty topics."""
    assert Backlog({}, {}).is_read(SourcePositions())
    assert Backlog({}, {}).progress(SourcePositions()).fraction == 1.0


def test_progress_is_the_part_that_was_reached() -> None:
    """Records after the backlog do not count, and neither do those before it."""
    backlog = Backlog({(LEFT, 0): 0, (RIGHT, 0): 100}, {(LEFT, 0): 100, (RIGHT, 0): 200})
    assert backlog.progress(SourcePositions()) == CatchUpProgress(0, 200)
    assert backlog.progress(read(row(LEFT, 0, 49), row(RIGHT, 0, 7))).fraction == 0.25
    assert backlog.progress(read(row(LEFT, 0, 120), row(RIGHT, 0, 149))) == CatchUpProgress(150, 200)


def test_a_changelog_with_all_that_was_committed_is_resumed_once_it_is_read_to_its_end() -> None:
    check = ResumeCheck({0: 10, 1: 3}, {(LEFT, 0): 5})
    assert not check.is_done({0: 10, 1: 2}, {(LEFT, 0): 5})
    assert check.is_done({0: 11, 1: 3}, {(LEFT, 0): 7, (RIGHT, 0): 1})


@pytest.mark.parametrize("complete", [{}, {(RIGHT, 1): 7}, {(RIGHT, 0): 8}])
def test_a_changelog_without_the_barrier_of_the_last_commit_is_not_resumed(
    complete: dict[SourcePartition, int],
) -> None:
    """The query will not write again what it has committed."""
    check = ResumeCheck({0: 3}, {(RIGHT, 1): 8})
    with pytest.raises(ChangelogError, match="committed offset 7 of partition 1 of the right topic"):
        check.is_done({0: 3}, complete)
