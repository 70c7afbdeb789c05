"""A feed folds what its reader gives, says when that is enough, and ends when it is told to."""

from __future__ import annotations

import queue
import threading

import pytest
from tests.reference.histories import COLUMNS, KEY, packed, placed, sampled
from tests.reference.operator import ModelOperator
from tests.reference.outcome import expected
from tests.tables.cases import INPUTS, joined_rows, rows_of
from tests.waiting import wait_until

from evertable.changelog.caught_up import CaughtUp
from evertable.changelog.changes import Changes
from evertable.changelog.coverage import Span
from evertable.changelog.decode import Decoder
from evertable.changelog.encode import Encoder, RecordOf
from evertable.changelog.resumption import ChangelogEnd, ResumeCheck
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.errors import ChangelogError, NotAuthorizedError
from evertable.generations.feed import Feed
from evertable.schema.joins import JoinType
from evertable.tables.generation import GenerationTables

SCHEMA = ChangelogSchema(*COLUMNS, JoinType.LEFT)
RECORDS = placed(packed(sampled(10, number=3)))
LINES = ModelOperator(SCHEMA, (KEY, KEY)).run(RECORDS)


class Given:
    """A reader of what the test puts in; an exception is raised."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Changes | Exception] = queue.SimpleQueue()
        self.read = 0
        self.closed = 0
        self.reopened = 0
        self.thread: threading.Thread | None = None

    @property
    def positions(self) -> dict[int, int]:
        return {0: self.read}

    def poll(self, timeout_s: float) -> Changes | None:
        self.thread = threading.current_thread()
        try:
            given = self.queue.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if isinstance(given, Exception):
            raise given
        self.read += given.records
        return given

    def reopen(self) -> None:
        self.reopened += 1

    def close(self) -> None:
        self.closed += 1


def targets() -> dict[tuple[Side, int], Span]:
    found: dict[tuple[Side, int], list[int]] = {}
    for side, record in RECORDS:
        found.setdefault((side, record.partition), []).append(record.offset)
    return {place: Span(min(offsets), max(offsets)) for place, offsets in found.items()}


def test_the_tables_are_fed_until_they_are_caught_up_and_on() -> None:
    """It says so once; how far each source has come can be asked."""
    reader, told = Given(), list[bool]()
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    feed = Feed(reader, tables, CaughtUp(targets()), on_caught_up=lambda: told.append(feed.is_caught_up))
    with feed:
        for line in LINES[:-3]:
            reader.queue.put(Decoder(SCHEMA).decode([line]))
        wait_until(lambda: feed.folded == len(LINES) - 3)
        assert (told, feed.is_caught_up) == ([], False)
        assert 0 < feed.progress.fraction < 1
        assert feed.rate > 0
        reader.queue.put(Decoder(SCHEMA).decode(LINES))
        wait_until(lambda: feed.progress.fraction == 1)
        feed.committed({(Side.LEFT, 0): 1}, {0: reader.read})
        wait_until(lambda: told == [True])
        assert feed.rate == 0  # what was there does not count as coming in
        assert feed.positions == {place: span.last + 1 for place, span in targets().items()}
        reader.queue.put(Decoder(SCHEMA).decode(LINES[:5]))
        wait_until(lambda: feed.folded == 2 * len(LINES) + 2)
    should = joined_rows(JoinType.LEFT, expected(JoinType.LEFT, COLUMNS, (KEY, KEY), RECORDS))
    assert sorted(map(str, rows_of(tables.joined))) == sorted(map(str, should.elements()))
    assert told == [True]
    assert reader.closed == 1
    assert reader.thread is not None
    assert not reader.thread.is_alive()


def test_what_the_engine_committed_counts() -> None:
    """A record that never shows up (compacted away) is not waited for once the engine is past it."""
    reader, told = Given(), threading.Event()
    feed = Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), CaughtUp({(Side.LEFT, 0): Span(0, 1)}))
    feed._on_caught_up = told.set
    with feed:
        last = Encoder(SCHEMA).row(RecordOf(Side.LEFT, 0, 1, 0), ["u1", "Ada", 36])
        reader.queue.put(Decoder(SCHEMA).decode([last]))
        wait_until(lambda: feed.positions == {(Side.LEFT, 0): 2})
        assert not told.is_set()
        feed.committed({(Side.LEFT, 0): 1}, {0: reader.read})
        feed.committed({(Side.LEFT, 0): 2}, {0: reader.read})
        assert told.wait(30)


def test_nobody_is_shown_what_the_engine_has_not_committed_once() -> None:
    """Its first commit is the longest, and changes wait for it. That a checkpoint holds nothing yet is none."""
    reader, told = Given(), threading.Event()
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with Feed(reader, tables, CaughtUp({(Side.LEFT, 0): Span(0, 0)}), on_caught_up=told.set) as feed:
        feed.committed({}, {0: reader.read})
        row = Encoder(SCHEMA).row(RecordOf(Side.LEFT, 0, 0, 0), ["u1", "Ada", 36])
        reader.queue.put(Decoder(SCHEMA).decode([row]))
        reader.queue.put(Decoder(SCHEMA).decode([row]))
        wait_until(lambda: feed.folded == 2)  # by then it has looked behind the first
        assert feed.progress.fraction == 1
        assert not told.is_set()
        feed.committed({(Side.LEFT, 0): 0}, {0: reader.read})
        assert told.wait(30)


@pytest.mark.parametrize("error", [ChangelogError("no such format"), ValueError("a bug")])
def test_a_changelog_that_cannot_be_read_is_reported(error: Exception) -> None:
    """The tables stay as they are, and can be read."""
    reader, failures = Given(), list[Exception]()
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with Feed(reader, tables, CaughtUp({}), on_failure=failures.append):
        reader.queue.put(Decoder(SCHEMA).decode(LINES))
        reader.queue.put(error)
        wait_until(lambda: failures == [error])
    assert tables.joined.extent.total > 0
    assert reader.closed == 1


def test_kept_out_it_tries_until_it_is_in_again() -> None:
    """One refusal is not worth a word, and gets a new consumer at once; the next one is told until something comes."""
    reader, failures = Given(), list[Exception]()
    refusal = NotAuthorizedError("Kafka does not allow Read.", "Give its user the right.")
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with Feed(reader, tables, CaughtUp({}), on_failure=failures.append) as feed:
        reader.queue.put(refusal)
        wait_until(lambda: reader.reopened == 1)
        assert feed.read_error == ""
        reader.queue.put(refusal)
        wait_until(lambda: feed.read_error == str(refusal))
        reader.queue.put(Decoder(SCHEMA).decode(LINES))
        wait_until(lambda: feed.read_error == "")
    assert (reader.reopened, failures) == (2, [])
    assert tables.joined.extent.total > 0


def test_a_commit_counts_once_all_that_was_written_until_then_is_read() -> None:
    """The offsets behind the last record (markers) count as read; what the reader has not read yet does not."""
    reader = Given()
    with Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), CaughtUp({})) as feed:
        feed.committed({(Side.LEFT, 0): 7}, {0: 1})
        assert feed.positions == {}
        reader.queue.put(Decoder(SCHEMA).decode([Encoder(SCHEMA).row(RecordOf(Side.LEFT, 0, 3, 0), ["u1", "Ada", 36])]))
        wait_until(lambda: feed.positions == {(Side.LEFT, 0): 7})


def test_few_commits_are_kept_however_long_the_reader_stands_still() -> None:
    """A generation lives for months, and an epoch ends every few seconds."""
    reader = Given()
    with Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), CaughtUp({})) as feed:
        for end in range(1_000):
            feed.committed({(Side.LEFT, 0): end}, {0: 1 + end})
        assert len(feed._unread_commits) == 2


def test_a_resumed_changelog_is_read_to_its_end_before_it_is_shown() -> None:
    """Also where no source record is left that could be waited for."""
    reader, told = Given(), threading.Event()
    check = ResumeCheck(ChangelogEnd("id", {0: len(LINES)}), {})
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with Feed(reader, tables, CaughtUp({}), on_caught_up=told.set, resume_check=check) as feed:
        feed.committed({(Side.LEFT, 0): 1}, {0: len(LINES)})
        for line in LINES[:-1]:
            reader.queue.put(Decoder(SCHEMA).decode([line]))
        wait_until(lambda: feed.folded == len(LINES) - 1)
        assert not told.is_set()
        reader.queue.put(Decoder(SCHEMA).decode(LINES[-1:]))
        assert told.wait(30)


def test_a_changelog_that_lacks_a_committed_record_is_not_resumed() -> None:
    """The query would never write it again, and nobody would miss it."""
    reader, failures = Given(), list[Exception]()
    check = ResumeCheck(ChangelogEnd("id", {0: 1}), {(Side.LEFT, 0): 4})
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with Feed(reader, tables, CaughtUp({}), on_failure=failures.append, resume_check=check):
        reader.queue.put(Decoder(SCHEMA).decode([Encoder(SCHEMA).row(RecordOf(Side.LEFT, 0, 3, 0), ["u1", "Ada", 36])]))
        wait_until(lambda: bool(failures))
    assert "committed offset 4 of partition 0 of the left topic" in str(failures[0])


def test_a_feed_may_be_closed_by_what_it_calls() -> None:
    """Whoever is told of a failure may end it there and then, though it is on the feed's own thread."""
    reader = Given()
    feed = Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), CaughtUp({}), on_failure=lambda error: feed.close())
    with feed:
        reader.queue.put(ValueError("a bug"))
        wait_until(lambda: reader.closed)
    assert reader.closed == 1


def test_a_feed_that_never_started_lets_go_of_its_reader() -> None:
    reader = Given()
    Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), CaughtUp({})).close()
    assert reader.closed == 1
