"""A feed folds what its reader returns, reports when it is caught up, and ends when it is closed."""

from __future__ import annotations

import queue
import threading
from contextlib import closing

import pytest
from tests.changelog.encoder import Encoder, SourceRef
from tests.reference.histories import COLUMNS, KEY, packed, placed, sampled
from tests.reference.operator import ModelOperator
from tests.reference.outcome import expected
from tests.tables.contents import INPUTS, joined_rows, rows_of
from tests.waiting import wait_until

from evertable.changelog.changes import Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.positions import Backlog, ResumeCheck
from evertable.changelog.reader import ChangelogReader
from evertable.changelog.schema import ChangelogSchema, Side, SourcePartition
from evertable.errors import ChangelogError, NotAuthorizedError
from evertable.generations.feed import Feed
from evertable.schema.joins import JoinType
from evertable.tables.generation import GenerationTables

SCHEMA = ChangelogSchema(*COLUMNS, JoinType.LEFT)
RECORDS = placed(packed(sampled(10, number=3)))
LINES = ModelOperator(SCHEMA, (KEY, KEY)).run(RECORDS)


class QueueReader(ChangelogReader):
    """A reader that returns what the test queued; a queued exception is raised."""

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


NOTHING = Backlog({}, {})


def ends() -> dict[SourcePartition, int]:
    """The offset after the last record, by partition."""
    found: dict[SourcePartition, int] = {}
    for side, record in RECORDS:
        place = (side, record.partition)
        found[place] = max(found.get(place, 0), record.offset + 1)
    return found


def decode(*messages: bytes) -> Changes:
    return Decoder(SCHEMA).decode(messages)


def test_the_tables_are_kept_up_to_date_before_and_after_they_are_caught_up() -> None:
    """That is reported once, when the backlog's barrier was read; progress and positions are there all the time."""
    reader, caught_up = QueueReader(), list[bool]()
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    backlog = Backlog(dict.fromkeys(ends(), 0), ends())
    feed = Feed(reader, tables, backlog, on_caught_up=lambda: caught_up.append(feed.is_caught_up))
    with closing(feed.start()):
        feed.committed()
        for line in LINES[:-3]:
            reader.queue.put(decode(line))
        wait_until(lambda: feed.folded == len(LINES) - 3)
        assert 0 < feed.progress.fraction < 1
        assert feed.rate > 0
        reader.queue.put(decode(*LINES))
        wait_until(lambda: feed.progress.fraction == 1)
        assert (caught_up, feed.is_caught_up) == ([], False)
        reader.queue.put(decode(Encoder(SCHEMA).barrier(ends())))
        wait_until(lambda: caught_up == [True])
        assert feed.rate == 0  # the backlog does not count
        assert feed.positions == ends()
        folded = feed.folded
        reader.queue.put(decode(*LINES[:5]))
        wait_until(lambda: feed.folded == folded + 5)
    should = joined_rows(JoinType.LEFT, expected(JoinType.LEFT, COLUMNS, (KEY, KEY), RECORDS))
    assert sorted(map(str, rows_of(tables.joined))) == sorted(map(str, should.elements()))
    assert caught_up == [True]
    assert reader.closed == 1
    assert reader.thread is not None
    assert not reader.thread.is_alive()


def test_a_feed_is_not_caught_up_before_the_first_commit() -> None:
    """The first commit takes longest."""
    reader, caught_up = QueueReader(), threading.Event()
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with closing(Feed(reader, tables, NOTHING, on_caught_up=caught_up.set).start()) as feed:
        for _ in range(2):
            reader.queue.put(decode(Encoder(SCHEMA).barrier({(Side.LEFT, 0): 0})))
        wait_until(lambda: feed.folded == 2)  # by then it has checked after the first
        assert not caught_up.is_set()
        feed.committed()
        assert caught_up.wait(30)


@pytest.mark.parametrize("error", [ChangelogError("no such format"), ValueError("a bug")])
def test_a_changelog_that_cannot_be_read_is_reported(error: Exception) -> None:
    """The tables stay as they are, and can be read."""
    reader, failures = QueueReader(), list[Exception]()
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with closing(Feed(reader, tables, NOTHING, on_failure=failures.append).start()):
        reader.queue.put(Decoder(SCHEMA).decode(LINES))
        reader.queue.put(error)
        wait_until(lambda: failures == [error])
    assert tables.joined.extent.total > 0
    assert reader.closed == 1


def test_denied_reads_are_retried_until_access_is_restored() -> None:
    """The first refusal only leads to a new consumer; the next one is reported until something is read."""
    reader, failures = QueueReader(), list[Exception]()
    refusal = NotAuthorizedError("Kafka does not allow Read.", "Give its user the right.")
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with closing(Feed(reader, tables, NOTHING, on_failure=failures.append).start()) as feed:
        reader.queue.put(refusal)
        wait_until(lambda: reader.reopened == 1)
        assert feed.read_error == ""
        reader.queue.put(refusal)
        wait_until(lambda: feed.read_error == str(refusal))
        reader.queue.put(Decoder(SCHEMA).decode(LINES))
        wait_until(lambda: feed.read_error == "")
    assert (reader.reopened, failures) == (2, [])
    assert tables.joined.extent.total > 0


def test_a_barrier_moves_the_position_over_offsets_without_a_record() -> None:
    """Such as the marker of a transaction."""
    reader = QueueReader()
    with closing(Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), NOTHING).start()) as feed:
        reader.queue.put(decode(Encoder(SCHEMA).row(SourceRef(Side.LEFT, 0, 3, 0), ["u1", "Ada", 36])))
        wait_until(lambda: feed.positions == {(Side.LEFT, 0): 4})
        reader.queue.put(decode(Encoder(SCHEMA).barrier({(Side.LEFT, 0): 7})))
        wait_until(lambda: feed.positions == {(Side.LEFT, 0): 7})


def test_a_resumed_changelog_is_read_to_its_end_before_it_is_shown() -> None:
    """That is so even if no source record is left to wait for."""
    reader, caught_up = QueueReader(), threading.Event()
    check = ResumeCheck({0: len(LINES) + 1}, ends())
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with closing(Feed(reader, tables, NOTHING, on_caught_up=caught_up.set, resume_check=check).start()) as feed:
        feed.committed()
        reader.queue.put(decode(Encoder(SCHEMA).barrier(ends())))
        for line in LINES[:-1]:
            reader.queue.put(decode(line))
        wait_until(lambda: feed.folded == len(LINES))
        assert not caught_up.is_set()
        reader.queue.put(decode(*LINES[-1:]))
        assert caught_up.wait(30)


def test_a_changelog_that_lacks_what_was_committed_is_not_resumed() -> None:
    """The query would never write it again."""
    reader, failures = QueueReader(), list[Exception]()
    check = ResumeCheck({0: 1}, {(Side.LEFT, 0): 5})
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    with closing(Feed(reader, tables, NOTHING, on_failure=failures.append, resume_check=check).start()):
        reader.queue.put(decode(Encoder(SCHEMA).barrier({(Side.LEFT, 0): 4})))
        wait_until(lambda: bool(failures))
    assert "committed offset 4 of partition 0 of the left topic" in str(failures[0])


def test_a_feed_may_be_closed_by_its_own_callback() -> None:
    """A callback for failures runs on the feed's own thread."""
    reader = QueueReader()
    feed = Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), NOTHING, on_failure=lambda error: feed.close())
    with closing(feed.start()):
        reader.queue.put(ValueError("a bug"))
        wait_until(lambda: reader.closed)
    assert reader.closed == 1


def test_a_feed_that_never_started_closes_its_reader() -> None:
    reader = QueueReader()
    Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), NOTHING).close()
    assert reader.closed == 1
