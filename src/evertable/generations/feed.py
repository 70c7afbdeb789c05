"""Reads a generation's changelog and folds it into its tables, on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Self

import structlog

from evertable.changelog.changes import Changes
from evertable.changelog.positions import Backlog, CatchUpProgress, ResumeCheck, SourcePositions, missing
from evertable.changelog.reader import ChangelogReader
from evertable.changelog.schema import SourcePartition
from evertable.errors import KafkaAccessError
from evertable.tables.generation import GenerationTables

BATCH_PAUSE_S = 0.01
"""The pause between two small batches: each batch has a fixed cost, and viewers need no more updates than that."""
LARGE_BATCH = 1_000
"""After a batch of so many records, the next one is read at once."""
POLL_S = 0.1
FULL_S = 0.5
"""The pause while the tables may not grow."""
SAMPLE_S = 1.0
RATE_SAMPLES = 6
RETRY_S = 2.0
"""The pause between attempts to read a changelog that Kafka refuses to give us."""
RECOVERED_S = 10.0
"""Without a refusal for so long, access counts as restored."""

log = structlog.get_logger()


class Feed:
    """Keeps a generation's tables up to date until it is closed. It owns the reader.

    ``on_caught_up`` is called once, when the tables hold the backlog and the engine has committed an epoch: the first
    commit takes longest, and viewers should not have to wait for it. ``on_failure`` is called if the changelog can no
    longer be read; the tables then stay as they are. Both are called on the feed's thread. Nothing is read while
    ``has_room`` returns False. If Kafka denies access, reading is retried until access is restored.
    """

    def __init__(
        self,
        reader: ChangelogReader,
        tables: GenerationTables,
        backlog: Backlog,
        *,
        on_caught_up: Callable[[], None] = lambda: None,
        on_failure: Callable[[Exception], None] = lambda error: None,
        has_room: Callable[[], bool] = lambda: True,
        resume_check: ResumeCheck | None = None,
    ) -> None:
        self.tables = tables
        self.folded = 0
        """How many changelog records were folded."""
        self.is_full = self.is_caught_up = False
        self.read_error = ""
        """Why Kafka denies reading at the moment, or empty. The first refusal, as at a new token, is ignored."""
        self.last_fold = time.monotonic()
        """The monotonic time at which records were last folded."""
        self._rates: deque[tuple[float, int]] = deque([(self.last_fold, 0)], maxlen=RATE_SAMPLES)
        self._reader = reader
        self._backlog = backlog
        self._on_caught_up = on_caught_up
        self._on_failure = on_failure
        self._has_room = has_room
        self._resume_check = resume_check
        self._lock = threading.Lock()
        self._has_commit = False
        self._positions = SourcePositions()
        self._replayed: SourcePositions | None = None
        self._replays_to: dict[SourcePartition, int] = {}
        self._last_refusal: float | None = None
        self._should_reopen = False
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evertable-feed", daemon=True)

    @property
    def progress(self) -> CatchUpProgress:
        """How much of the backlog is in the tables."""
        with self._lock:
            return self._backlog.progress(self._positions)

    @property
    def rate(self) -> float:
        """Changelog records a second, over the last few seconds."""
        with self._lock:
            (then, before), moment = self._rates[0], time.monotonic()
            return round((self.folded - before) / max(moment - then, SAMPLE_S), 1)

    @property
    def positions(self) -> dict[SourcePartition, int]:
        """For each source partition, the next offset that is not in the tables yet."""
        with self._lock:
            return self._positions.reached

    def start(self) -> Self:
        self._thread.start()
        return self

    def committed(self) -> None:
        """Notes that the query has committed an epoch."""
        self._has_commit = True

    def replay(self) -> None:
        """Notes that the query has failed: it will write again at least what it wrote since its last commit."""
        with self._lock:
            self._replayed, self._replays_to = SourcePositions(), self._positions.reached

    @property
    def is_replaying(self) -> bool:
        """Whether the query has not yet reached the offsets at which it failed."""
        with self._lock:
            if self._replayed is None:
                return False
            if missing(self._replays_to, self._replayed.reached):
                return True
            self._replayed = None
            return False

    def reconnect(self) -> None:
        """Continues with a new consumer, because the connection may be dead."""
        self._should_reopen = True

    def close(self) -> None:
        """Ends the thread, which then closes the reader. On the feed's own thread it returns before that."""
        self._closing.set()
        if self._thread.ident is None:
            self._reader.close()
        elif self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self.is_full = not self._has_room()
                if self.is_full:
                    self._closing.wait(FULL_S)
                    continue
                started = time.monotonic()
                changes = self._poll()
                if changes is not None:
                    self._fold(changes)
                self._check_caught_up()
                if started > self._rates[-1][0] + SAMPLE_S:
                    with self._lock:
                        self._rates.append((started, self.folded))
                if changes is not None and changes.records < LARGE_BATCH:
                    self._closing.wait(started + BATCH_PAUSE_S - time.monotonic())
        except Exception as error:  # the owner of the generation decides what to do
            log.warning("Folding the changelog failed; the tables stay as they are", error=str(error))
            self._on_failure(error)
        finally:
            self._reader.close()

    def _poll(self) -> Changes | None:
        try:
            if self._should_reopen:
                self._reader.reopen()
                self._should_reopen = False
            changes = self._reader.poll(POLL_S)
        except KafkaAccessError as error:
            if self._last_refusal is not None:
                self.read_error = str(error)
                self._closing.wait(RETRY_S)
            self._last_refusal, self._should_reopen = time.monotonic(), True
            return None
        if self._last_refusal is not None and (changes or time.monotonic() > self._last_refusal + RECOVERED_S):
            self.read_error, self._last_refusal = "", None
        return changes

    def _fold(self, changes: Changes) -> None:
        self.tables.fold(changes)
        with self._lock:
            self.folded += changes.records
            self.last_fold = time.monotonic()
            self._positions.add(changes)
            if self._replayed is not None:
                self._replayed.add(changes)

    def _check_caught_up(self) -> None:
        if self.is_caught_up:
            return
        complete = self._positions.complete
        if self._resume_check is not None:
            if not self._resume_check.is_done(self._reader.positions, complete):
                return
            self._resume_check = None
        if self._has_commit and self._backlog.is_read(self._positions):
            self.is_caught_up = True
            with self._lock:
                self._rates.clear()  # from here on, the rate is that of new records, without the backlog
                self._rates.append((time.monotonic(), self.folded))
            self._on_caught_up()
