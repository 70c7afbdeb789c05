"""A running generation: its changelog, query, feed and tables, from the build to its end."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial

from evertable.changelog.positions import ResumeCheck
from evertable.changelog.schema import Side, SourcePartition
from evertable.config import Config, SwapMode
from evertable.engine.committed import committed_in_checkpoint
from evertable.engine.protocol import EpochCommitted, Started
from evertable.errors import EvertableError, NotEnoughMemoryError, TopicRecreatedError
from evertable.generations.build import Build, StartOffsets, build, resume
from evertable.generations.context import GenerationContext
from evertable.generations.events import Broken, Quarantined, Warm
from evertable.generations.feed import Feed
from evertable.generations.identity import change_of, identity_of, topic_ids
from evertable.generations.retrying import retried
from evertable.generations.review import Figures
from evertable.generations.source_events import EventKind
from evertable.generations.status_tables import DEAD_LETTERS, iso
from evertable.generations.suggestions import suggesting
from evertable.kafka.admin import AdminPool
from evertable.kafka.outages import WarningThrottle
from evertable.schema.wiring import Wiring
from evertable.state.identity import Identity
from evertable.state.records import LiveRecord, Record
from evertable.tables.generation import GenerationTables
from evertable.tables.table import Table

RECHECK_S = 3.0
"""How long the first request may take that checks the topics once more before a generation goes live."""
PREPARE_SHARE = 0.95
"""The share of ``swap.timeout_s`` for preparing a build: if Kafka does not answer, the error is reported in time."""
THROTTLE_SHARE = 0.5
"""The share of ``swap.timeout_s`` in which the backlog is read slowly, to leave resources to the live generation."""


@dataclass(eq=False)
class RunningGeneration:
    """One generation and what it owns. ``build``, ``halt`` and ``end`` block: call them on a worker, one at a time."""

    context: GenerationContext
    number: int
    wiring: Wiring
    start_offsets: StartOffsets | None = None
    """Where its sources began, if it is resumed."""
    is_beside_live: bool = False
    """Whether another generation is live while it is built."""
    expected_bytes: int = 0
    """How much memory its tables are expected to take: as much as the live ones."""
    created: str = field(default_factory=iso)
    published: str = ""
    identity: Identity | None = None
    started: Started | None = None
    progress: EpochCommitted | None = None
    is_warm: bool = False
    """Whether its tables hold the backlog, and its topics were not recreated meanwhile."""
    source_problems: dict[tuple[str, EventKind], str] = field(default_factory=dict)
    """What is wrong with its topics, by source and kind."""
    stall_warnings: dict[str, WarningThrottle] = field(default_factory=dict)
    """For each stalled source."""
    restarted: float = 0.0
    """The monotonic time at which its query was last restarted because it read nothing."""
    stale_reason: str = ""
    """Why its query does not run at the moment; empty if it runs."""
    last_running: float = field(default_factory=time.monotonic)
    """The monotonic time at which its query was last known to run."""
    replaced_figures: Figures | None = None
    """The figures of the tables that it replaced in a swap; None if there were none."""
    feed: Feed | None = None
    built: Build | None = None
    building: Future[None] | None = None
    """The build as work on another thread, if it has begun."""
    swap_began: float = 0.0
    """The monotonic time at which its build began; 0 once it was published."""
    _admins: AdminPool = field(default_factory=AdminPool)
    _given_up: threading.Event = field(default_factory=threading.Event)

    def build(self) -> None:
        """Prepares the topics and starts query and feed; raises if that is not possible."""
        context = self.context
        if not context.fits(self.expected_bytes):
            raise NotEnoughMemoryError(
                f"Another generation of about {self.expected_bytes >> 20} MB does not fit into server.max_memory_mb, "
                f"{context.config.server.max_memory_mb}.",
                "Raise it, or swap to smaller topics.",
            )
        config = context.config.rewired(self.wiring)
        prepared = retried(
            partial(self._prepare, config), self._given_up, self._report_retry, PREPARE_SHARE * config.swap.timeout_s
        )
        if prepared is None or self._given_up.is_set():
            return
        self.identity, self.built, resume_check = prepared
        self.feed = Feed(
            self.built.reader(config),
            GenerationTables(config.left, config.right, self.wiring.join, context.notify, self._report_quarantine),
            self.built.backlog,
            on_caught_up=partial(self._recheck_topics, config),
            on_failure=self._fail,
            has_room=context.fits,
            resume_check=resume_check,
        ).start()
        context.counts.add(self.feed)
        if resume_check is not None and resume_check.committed:
            self.feed.committed()
        self.started = context.engine.start(self.built.spec)

    def _prepare(self, config: Config, attempt: int, timeout_s: float) -> tuple[Identity, Build, ResumeCheck | None]:
        """Inspects the topics and creates or finds the changelog, with new connections: old ones may be dead."""
        admins, starts = self._admins, self.start_offsets
        admins.renew()
        where = (self.number, self.context.topics, self.context.checkpoints.of(self.number))
        with suggesting(config):
            # Before the topics' offsets are read: a topic that is recreated in between must count as changed.
            ids = topic_ids(config, admins, timeout_s=timeout_s)
            if starts is not None:
                built = resume(config, *where, starts, admins=admins, timeout_s=timeout_s)
            else:
                is_eager = config.swap.mode is SwapMode.EAGER
                built = build(
                    config,
                    *where,
                    throttle_s=THROTTLE_SHARE * config.swap.timeout_s if self.is_beside_live and not is_eager else 0.0,
                    is_eager=is_eager,
                    admins=admins,
                    may_exist=attempt > 1,
                    timeout_s=timeout_s,
                )
        check = None if starts is None else self._resume_check(built, config)
        return identity_of(config, ids, (built.spec.left.start, built.spec.right.start)), built, check

    def _resume_check(self, built: Build, config: Config) -> ResumeCheck:
        """Compares checkpoint and changelog as they are before the query starts and writes to both."""
        committed = committed_in_checkpoint(built.spec)
        ends = {(side, partition): at for side in Side for partition, at in committed[side].items()}
        with built.reader(config) as reader:
            return ResumeCheck(reader.end(), ends)

    def _recheck_topics(self, config: Config) -> None:
        """Reports that it is warm, unless a topic was recreated meanwhile: its rows may then be of both topics."""
        if (identity := self.identity) is None:
            return

        def changes(_: int, timeout_s: float) -> str:
            return change_of(identity, config, self._admins, timeout_s=timeout_s) or ""

        try:
            why = retried(changes, self._given_up, self._report_retry, first_s=RECHECK_S)
        except EvertableError as error:
            self._fail(error)
            return
        if why:
            self._fail(TopicRecreatedError(why))
        elif not self._given_up.is_set():
            self.is_warm = True
            self.context.post(Warm(self.number))

    def _report_quarantine(self, reasons: Sequence[str]) -> None:
        self.context.post(Quarantined(self.number, tuple(reasons)))

    def _fail(self, error: Exception) -> None:
        self.context.post(Broken(self.number, str(error)))

    def _report_retry(self, error: EvertableError) -> None:
        self.context.report("WARN", f"Generation {self.number}: retrying after {error}")

    def give_up(self) -> None:
        """Cancels a build that is under way, because the generation will be ended."""
        self._given_up.set()

    def halt(self) -> None:
        """Ends query and feed, and keeps changelog and checkpoint for a resume."""
        self.give_up()
        try:
            self.context.engine.stop(self.number)
        finally:
            if self.feed is not None:
                self.feed.close()

    def end(self) -> None:
        """Ends query and feed and frees the tables; the sweeper then deletes changelog and checkpoint."""
        with ExitStack() as ends:
            ends.callback(self._free)
            ends.callback(self.halt)
            if self.building is not None:
                ends.callback(wait, [self.building])
            self.context.engine.stop(self.number)  # ends the wait of a build that is under way

    def _free(self) -> None:
        if self.feed is not None:
            self.context.counts.retire(self.feed)
        self.feed = None
        give_back_memory()

    def query_failed(self, reason: str) -> None:
        """Notes that its query does not run, and will read again what it has not committed."""
        self.stale_reason = reason
        if self.feed is not None:
            self.feed.replay()

    def query_started(self, started: Started) -> None:
        """Notes that its query runs."""
        self.started, self.stale_reason, self.last_running = started, "", time.monotonic()

    def made_progress(self, progress: EpochCommitted) -> None:
        """Notes that the engine has committed an epoch."""
        self.progress, self.stale_reason, self.last_running = progress, "", time.monotonic()
        if self.feed is not None and (progress.left or progress.right):
            self.feed.committed()

    def positions(self) -> dict[SourcePartition, int]:
        """Returns the next offset to be read of each source partition."""
        feed = self.feed
        return {} if feed is None else feed.positions

    @property
    def records(self) -> list[Record]:
        """What a restart needs to resume it."""
        if self.built is None or self.identity is None:
            raise ValueError(f"generation {self.number} is not built")
        spec = self.built.spec
        live = LiveRecord(
            self.number,
            self.wiring,
            self.identity,
            spec.changelog_topic,
            spec.max_message_bytes,
            spec.checkpoint,
            self.created,
            self.published,
        )
        return [live]

    @property
    def tables(self) -> GenerationTables | None:
        feed = self.feed
        return feed.tables if feed else None

    @property
    def rows(self) -> int:
        tables = self.tables
        return tables.joined.extent.total if tables else 0

    @property
    def public_tables(self) -> Mapping[str, Table]:
        """Its tables by their public names."""
        if (tables := self.tables) is None:
            raise ValueError(f"generation {self.number} has no tables")
        config = self.context.config
        return {
            config.table_of(config.left): tables.left,
            config.table_of(config.right): tables.right,
            config.joined_table: tables.joined,
            DEAD_LETTERS: tables.dead_letters,
        }


def give_back_memory() -> None:
    """Returns freed memory to the system: glibc keeps what a thread has freed, and each generation has a thread."""
    with suppress(AttributeError):  # another C library, without such a function
        ctypes.CDLL(None).malloc_trim(0)
