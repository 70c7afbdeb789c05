"""A generation is caught up when its whole backlog has been read from its changelog."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.changelog.encoder import Encoder, SourceRef

from evertable.changelog import coverage as module
from evertable.changelog.caught_up import CatchUpProgress, CaughtUp
from evertable.changelog.changes import Changes
from evertable.changelog.coverage import CHUNK, MAX_OPEN, Coverage, Span
from evertable.changelog.decode import Decoder
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.schema.columns import Column, ColumnType
from evertable.schema.joins import JoinType

LEFT, RIGHT = Side.LEFT, Side.RIGHT
COLUMNS = (Column("userId", ColumnType.parse("string")),)
SCHEMA = ChangelogSchema(COLUMNS, COLUMNS, JoinType.INNER)


def changes(*rows: tuple[Side, int, int], rejects: tuple[tuple[Side, int, int], ...] = ()) -> Changes:
    encoder = Encoder(SCHEMA)
    values = [encoder.row(SourceRef(*row, 0), [None]) for row in rows]
    values += [encoder.reject(SourceRef(*reject, 0), "INVALID_JSON: no", b"") for reject in rejects]
    return Decoder(SCHEMA).decode(values)


def test_without_a_backlog_it_is_caught_up_at_once() -> None:
    """There is none with start: latest, or with empty topics."""
    watch = CaughtUp({})
    assert watch.is_done
    assert watch.progress.fraction == 1.0


def test_it_is_caught_up_when_every_offset_was_read() -> None:
    """Rows and rejects of both sources count, in any order; other partitions and offsets do not."""
    watch = CaughtUp({(LEFT, 0): Span(5, 7), (RIGHT, 2): Span(0, 1)})
    watch.add(changes((LEFT, 0, 7), (LEFT, 0, 5), (RIGHT, 2, 0), (RIGHT, 0, 6), (LEFT, 2, 1), (LEFT, 0, 8)))
    assert watch.missing == {(LEFT, 0): Span(5, 7), (RIGHT, 2): Span(0, 1)}
    watch.add(changes(rejects=((LEFT, 0, 6), (LEFT, 2, 1))))
    assert watch.missing == {(RIGHT, 2): Span(0, 1)}
    watch.add(changes(rejects=((RIGHT, 2, 1),)))
    assert watch.is_done


def test_repeats_count_once() -> None:
    """A replayed epoch writes the same rows again."""
    watch = CaughtUp({(LEFT, 0): Span(0, 2)})
    for _ in range(3):
        watch.add(changes((LEFT, 0, 0), (LEFT, 0, 2)))
    assert not watch.is_done


def test_rows_of_two_runs_are_not_enough() -> None:
    """One run wrote the left row, the other the right one; it writes the match when it reads the left row again."""
    runs = 1
    watch = CaughtUp({(LEFT, 0): Span(0, 1), (RIGHT, 0): Span(0, 1)}, lambda: runs > 1)
    watch.add(changes((LEFT, 0, 0), (LEFT, 0, 1), (RIGHT, 0, 0)))
    assert watch.missing == {(RIGHT, 0): Span(0, 1)}
    runs = 2
    watch.add(changes((RIGHT, 0, 1)))
    assert watch.missing == {(LEFT, 0): Span(0, 1), (RIGHT, 0): Span(0, 1)}
    watch.read_to({0: 8})
    watch.committed({(LEFT, 0): 1, (RIGHT, 0): 2}, {0: 8})
    assert watch.missing == {(LEFT, 0): Span(0, 1)}
    watch.committed({(LEFT, 0): 2, (RIGHT, 0): 2}, {0: 10})
    assert not watch.is_done
    watch.read_to({0: 10})
    assert watch.is_done


def test_the_last_offset_alone_is_not_enough() -> None:
    """With several shuffle partitions, it may be written before earlier ones."""
    watch = CaughtUp({(LEFT, 0): Span(0, 2)})
    watch.add(changes((LEFT, 0, 2)))
    watch.read_to({0: 1})
    assert not watch.is_done


def test_gaps_are_caught_up_by_a_commit_that_was_read() -> None:
    """The last record was read, an epoch with it was committed, and the changelog read to its end at that time."""
    watch = CaughtUp({(LEFT, 0): Span(0, 100)})
    watch.add(changes((LEFT, 0, 100)))
    watch.committed({(LEFT, 0): 101}, {0: 10, 1: 3})
    watch.read_to({0: 10, 1: 2})
    assert not watch.is_done
    watch.read_to({0: 10, 1: 3})
    assert watch.is_done


def test_a_commit_may_be_reported_after_the_changelog_was_read() -> None:
    """Commits and records are reported by different processes."""
    watch = CaughtUp({(LEFT, 0): Span(0, 100)})
    watch.add(changes((LEFT, 0, 100)))
    watch.read_to({0: 10})
    watch.committed({(LEFT, 0): 102}, {0: 10})
    assert watch.is_done


def test_a_commit_before_the_last_record_does_not_count() -> None:
    """An epoch that ends at the last record's offset does not contain it."""
    watch = CaughtUp({(LEFT, 0): Span(0, 100)})
    watch.add(changes((LEFT, 0, 100)))
    watch.read_to({0: 10})
    watch.committed({(LEFT, 0): 100, (RIGHT, 0): 500}, {0: 10})
    assert not watch.is_done


def test_the_first_sufficient_commit_counts() -> None:
    """Later commits, when the changelog is longer, do not delay it."""
    watch = CaughtUp({(LEFT, 0): Span(0, 100)})
    watch.committed({(LEFT, 0): 101}, {0: 10})
    watch.committed({(LEFT, 0): 5000}, {0: 100_000})
    watch.add(changes((LEFT, 0, 100)))
    watch.read_to({0: 10})
    assert watch.is_done


def test_progress_is_the_part_that_was_read() -> None:
    """Gaps count as read once a later record was read; progress is complete only when caught up."""
    watch = CaughtUp({(LEFT, 0): Span(0, 99), (RIGHT, 0): Span(100, 199)})
    assert watch.progress == CatchUpProgress(0, 200)
    watch.add(changes((LEFT, 0, 49)))
    assert watch.progress.fraction == 0.25
    watch.add(changes((LEFT, 0, 99), (RIGHT, 0, 199)))
    assert watch.progress == CatchUpProgress(198, 200)


@given(st.integers(0, 2**40), st.lists(st.lists(st.integers(-3, 33))), st.integers(0, 30))
def test_coverage_is_a_set_of_offsets(first: int, batches: list[list[int]], length: int) -> None:
    """It is full when the set has every offset of the span."""
    coverage = Coverage(Span(first, first + length))
    seen: set[int] = set()
    for batch in batches:
        coverage.add(np.array(batch, np.int64) + first)
        seen |= set(batch)
        assert coverage.is_full == (seen >= set(range(length + 1)))
        assert coverage.has_last == (length in seen)


def is_full(coverage: Coverage) -> bool:
    return coverage.is_full  # in a function, as mypy would otherwise narrow it to a constant


@pytest.mark.parametrize("offsets", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7])
def test_coverage_in_any_order(offsets: int) -> None:
    """In any order, only the last offset makes it full, and then no bitmap remains."""
    order = np.random.default_rng(0).permutation(offsets) + 5_000_000_000
    coverage = Coverage(Span(5_000_000_000, 5_000_000_000 + offsets - 1))
    for part in np.array_split(order[:-1], 10):
        coverage.add(part)
    assert not is_full(coverage)
    coverage.add(order[-1:])
    assert is_full(coverage)
    assert coverage.bitmaps == 0


def test_memory_is_bounded_where_offsets_are_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compacted topic with billions of offsets drops its bitmap and waits for a commit."""
    monkeypatch.setattr(module, "MAX_OPEN", 8)
    last = 5_000_000_000
    sparse = Coverage(Span(0, last))
    sparse.add(np.arange(0, last, CHUNK, dtype=np.int64))
    assert sparse.bitmaps == 0
    assert not sparse.is_full
    watch = CaughtUp({(LEFT, 0): Span(0, last)})
    watch.add(changes(*((LEFT, 0, offset) for offset in range(0, 20 * CHUNK, CHUNK)), (LEFT, 0, last)))
    watch.read_to({0: 21})
    watch.committed({(LEFT, 0): last + 1}, {0: 21})
    assert watch.is_done
    assert MAX_OPEN * CHUNK / 8 <= 8 << 20


def test_a_span_has_a_beginning_and_an_end() -> None:
    """Partitions without records have no span."""
    with pytest.raises(ValueError, match="first 3, last 2"):
        Span(3, 2)
