"""The orchestrator: carries out what the life of generations asks for, and tells it what event.

One thread takes one event after the other, so nothing here needs a lock. What takes time (building, shutdown) runs on
workers, which say when they are done by an event.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import Any, Protocol

import structlog

from evertable.background import run_in_background
from evertable.changelog.schema import Side
from evertable.config import Config
from evertable.control.messages import Condition, ControlMessage, FoldedMessages, Rejected, Resolved, keys_of, resolve
from evertable.engine.protocol import Died, EngineEvent, EpochCommitted, Failed, Started
from evertable.errors import EvertableError, NotEnoughMemoryError, NotEnoughSlotsError
from evertable.generations.counters import GenerationCounters
from evertable.generations.events import Answer, Broken, Built, Committed, Ended, Message, OrchestratorEvent, Stop, Warm
from evertable.generations.lifecycle import (
    Action,
    Build,
    End,
    Generation,
    GenerationState,
    Lifecycle,
    Publish,
    Result,
    Settle,
)
from evertable.generations.resume_deadline import ResumeDeadline
from evertable.generations.retrying import is_lasting
from evertable.generations.review import Figures, Review
from evertable.generations.running import GenerationContext, RunningGeneration
from evertable.generations.source_events import (
    Change,
    KafkaLost,
    KafkaRegained,
    PartitionsGrew,
    Report,
    Rewound,
    SourceRecovered,
    SourceStalled,
    TopicBack,
    TopicGone,
    TopicRecreated,
    Truncated,
)
from evertable.generations.stall_monitor import StallMonitor
from evertable.generations.state_writer import StateWriter
from evertable.generations.status import StatusReporter, said
from evertable.generations.status_tables import StatusTables, iso, iso_of_ms
from evertable.generations.watch import TopicWatch
from evertable.shutdown import Shutdown
from evertable.state.records import ControlOffset, ControlResult, Numbers, PreviousWiring, Record
from evertable.tables.table import Table

BEAT_S = 1.0
ENGINE_S = 6.0
FLUSH_S = 5.0

log = structlog.get_logger()


class Publisher(Protocol):
    """Flips all names to a generation's tables; ``also`` runs with the flip. Returns the publication's number."""

    def __call__(self, generation: int, tables: Mapping[str, Table], also: Callable[[], None]) -> int: ...


Request = tuple[int, int]
"""A control message's partition and offset; partition -1 for direct wishes."""


@dataclass(frozen=True)
class _Pending:
    """A control message that waits for its generation."""

    record: ControlMessage
    given: Mapping[str, str | None]
    force: bool = False


class Orchestrator:
    """Drives the generations of one app, from ``start`` until ``stop``."""

    def __init__(
        self,
        config: Config,
        context: GenerationContext,
        life: Lifecycle,
        status_tables: StatusTables,
        publisher: Publisher,
        state_writer: StateWriter,
        watch: TopicWatch,
        sweep: Callable[[int], None],
        counts: GenerationCounters,
        missing: Callable[[Mapping[Side, str]], str],
        shutdown: Shutdown,
        publication: int = 0,
        last_applied: str | None = None,
    ) -> None:
        self.failure: Exception | None = None
        """What ended it, if it was not told to."""
        self._config = config
        self._keys = keys_of(config)
        self._context = context
        self._life = life
        self._status = status_tables
        self._publisher = publisher
        self._state_writer = state_writer
        self._watch = watch
        self._sweep = sweep
        self._counts = counts
        self._missing = missing
        self._shutdown = shutdown
        self._events: queue.SimpleQueue[OrchestratorEvent] = queue.SimpleQueue()
        self._running: dict[int, RunningGeneration] = {}
        self._builds: dict[int, Future[None]] = {}
        self._open: dict[Request, _Pending] = {}
        self._heard: dict[int, ControlOffset] = {}  # by partition of the control topic: behind the last message
        self._publication = publication
        self._swap_began: dict[int, float] = {}
        self._display = StatusReporter(
            life, status_tables, self._running, state_writer.write, config.server.max_memory_mb
        )
        self._display.last_applied = last_applied
        self._resume_deadline = ResumeDeadline(config.swap.timeout_s)
        self._standstills = StallMonitor(status_tables.report, context.engine.restart)
        self._next_beat = 0.0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="evertable-orchestrator", daemon=True)

    def post(self, event: OrchestratorEvent) -> None:
        """Tells it what event; any thread may."""
        self._events.put(event)

    @property
    def flow(self) -> dict[str, Any]:
        """For ``/api/status``; any thread may ask."""
        return self._display.flow()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def adopt(self, running: RunningGeneration) -> None:
        """Before the start: what its life is to resume."""
        self._running[running.number] = running

    def recall(self, folded: FoldedMessages, topic_id: str | None) -> Request | None:
        """Before the start: what came on the control topic meanwhile. The newest valid message is the one to answer."""
        open_: Request | None = None
        for record, verdict in folded.resolutions:
            self._heard[record.partition] = self._behind(record, topic_id)
            if isinstance(verdict, Rejected):
                self._reject(record, verdict)
                continue
            if open_ is not None:
                self._settle(self._open.pop(open_), "superseded", "a newer message came")
            open_ = (record.partition, record.offset)
            self._open[open_] = _Pending(record, verdict.given, verdict.force)
            self._status.message(open_, verdict.given, iso_of_ms(record.timestamp), "pending", "")
        return open_

    def start(self, first: list[Action]) -> None:
        """Begins with these actions of its life."""
        self._first = first
        self._thread.start()

    def stop(self) -> None:
        """Ends everything but what a restart takes up again; returns when it has, or at the shutdown's deadline."""
        self._shutdown.begin()
        self.post(Stop())
        self._thread.join(self._shutdown.left())

    # --- the loop

    def _run(self) -> None:
        try:
            self._do(self._first)
            while not self._stopping:
                self._turn()
            self._shut_down()
        except Exception as error:
            log.exception("orchestrator_failed")
            self.failure = error

    def _turn(self) -> None:
        due = min(self._life.next_due, self._next_beat)
        try:
            event = self._events.get(timeout=max(0.0, min(due - time.monotonic(), BEAT_S)))
        except queue.Empty:
            pass
        else:
            self._take(event)
        moment = time.monotonic()
        if self._life.next_due <= moment:
            self._do(self._life.tick(moment))
        if self._next_beat <= moment:
            self._next_beat = moment + BEAT_S
            self._give_up_a_resume_that_stands_still(moment)
            self._display.show()

    def _take(self, event: OrchestratorEvent) -> None:
        moment = time.monotonic()
        match event:
            case Message():
                self._receive(event)
            case Built(number, error):
                self._take_built(number, error)
            case Warm(number):
                self._publish_if_sound(number)
            case Committed(number, end) if number in self._running:
                self._running[number].changelog_end = end
                if (live := self._life.live) is not None and live.number == number:
                    self._state_writer.write(*self._running[number].records)
            case Broken(number, reason):
                self._break(number, reason)
            case Ended(number, error):
                if error is not None:
                    self._status.report("WARN", f"Generation {number} did not end in order: {error}")
                self._sweep(number)
                self._running.pop(number, None)
                self._builds.pop(number, None)
                self._swap_began.pop(number, None)
                self._do(self._life.ended(number, moment))
            case Stop(failure):
                self._shutdown.begin()
                self._stopping, self.failure = True, failure
            case Committed():  # of a generation that has ended
                pass
            case Change() | KafkaLost() | KafkaRegained():
                self._take_report(event)
            case _:
                self._take_engine(event)

    def _take_report(self, report: Report) -> None:
        """Something event to a topic that is read. What cannot be read on is built anew."""
        if isinstance(report, KafkaLost | KafkaRegained):
            self._display.kafka_is_away(str(report) if isinstance(report, KafkaLost) else "")
        match report:
            case TopicRecreated(number) | Rewound(number):
                self._break(number, str(report))
            case Truncated(number, position=0):  # Spark takes it for a partition without records, and waits for ever
                self._break(number, str(report))
            case SourceStalled() | SourceRecovered() | TopicGone() | TopicBack():
                self._standstills.report(report, self._running.get(report.generation))
            case KafkaRegained() | PartitionsGrew():
                self._status.report("INFO", str(report))
            case _:
                self._status.report("WARN", str(report))

    def _take_engine(self, event: EngineEvent) -> None:
        match event:
            case Started(number) if number in self._running:
                self._running[number].query_started(event)
            case EpochCommitted(number) if number in self._running:
                self._running[number].made_progress(event)
            case Failed(number, condition, message, retriable) if number in self._running:
                self._running[number].failed(message)
                if not retriable:
                    self._break(number, f"{condition}: {message}")
                else:
                    what = f"The query of generation {number} failed and is started again"
                    self._status.report("WARN", f"{what}: [{condition}] {message}")
            case Died(reason):
                self._status.report("WARN", f"Spark ended and is started again: {reason}")
                for running in self._running.values():
                    running.failed(reason)

    def _break(self, number: int, reason: str) -> None:
        if number in self._life.generations:
            self._status.report("ERROR", f"Generation {number} cannot go on: {reason}")
            if self._life.generations[number].state is GenerationState.LIVE:
                _work(self._running[number].halt)  # its tables stay as they are: more may be another topic's rows
            self._do(self._life.failed(number, reason, time.monotonic()))

    def _give_up_a_resume_that_stands_still(self, moment: float) -> None:
        coming = self._life.coming
        feed = self._running[coming.number].feed if coming is not None and coming.resumed else None
        if coming is None or feed is None:
            return
        progress = (feed.folded, feed.progress.reached)
        if self._resume_deadline.is_over(moment, progress, kafka_is_away=self._display.is_kafka_away):
            limit = f"{self._resume_deadline.timeout_s:g} s (swap.timeout_s)"
            self._break(coming.number, f"resuming it has made no progress for {limit}")

    # --- what is wanted

    def _receive(self, message: Message) -> None:
        record = message.record
        request = (record.partition, record.offset)
        self._heard[record.partition] = self._behind(record, message.topic_id)
        source = _source(record)
        verdict = resolve(record.value, self._life.wanted or self._config.wiring, self._keys)
        if isinstance(verdict, Resolved):
            verdict = self._checked(verdict)
        if isinstance(verdict, Rejected):
            self._reject(record, verdict, message.answer)
            return
        wiring = verdict.wiring
        self._status.report("INFO", f"Control message received ({source}), resolved to {said(wiring)}")
        for warning in verdict.warnings:
            self._status.report("WARN", f"Control message ({source}): {warning}")
        self._open[request] = _Pending(record, verdict.given, verdict.force)
        self._status.message(request, verdict.given, iso_of_ms(record.timestamp), "pending", "")
        if message.answer is not None:
            message.answer.set_result({"result": "pending", "reason": ""})
        self._do(self._life.want(wiring, time.monotonic(), request))

    def _reject(self, record: ControlMessage, verdict: Rejected, answer: Answer | None = None) -> None:
        reason = f"{verdict.condition}: {verdict.sentence}"
        self._status.report("WARN", f"Control message ({_source(record)}) rejected: {reason}")
        self._settle(_Pending(record, verdict.given), "rejected", reason, answer)

    def _checked(self, resolved: Resolved) -> Resolved | Rejected:
        """A wiring whose topics are missing is rejected before anything is touched."""
        wiring, live = resolved.wiring, self._life.live
        if any(wiring == lingering.wiring for lingering in self._life.lingering):
            return resolved  # its topics are watched, and to ask for them takes longer than to revive it
        wanted = {Side.LEFT: wiring.left_topic, Side.RIGHT: wiring.right_topic}
        shown = {Side.LEFT: live.wiring.left_topic, Side.RIGHT: live.wiring.right_topic} if live else {}
        sentence = self._missing({side: topic for side, topic in wanted.items() if topic != shown.get(side)})
        return Rejected(Condition.TOPIC_NOT_FOUND, sentence, resolved.given) if sentence else resolved

    def _settle(self, message: _Pending, result: str, reason: str, answer: Answer | None = None) -> None:
        record, given = message.record, message.given
        self._status.message((record.partition, record.offset), given, iso_of_ms(record.timestamp), result, reason)
        if answer is not None:
            answer.set_result({"result": result, "reason": reason})
        if result in (Result.APPLIED, Result.UNCHANGED):
            self._display.last_applied = iso()
        if record.partition >= 0:
            verdict = ControlResult(record.partition, record.offset, record.timestamp, given, result, reason)
            self._state_writer.write(verdict, self._next_offset(record.partition))

    def _behind(self, record: ControlMessage, topic_id: str | None) -> ControlOffset:
        return ControlOffset(record.partition, record.offset + 1, topic_id, self._config.control.topic)

    def _next_offset(self, partition: int) -> ControlOffset:
        """From where a restart reads: behind what is settled; what is pending is then read again."""
        pending = [offset for at, offset in self._open if at == partition]
        heard = self._heard[partition]
        return replace(heard, next=min([*pending, heard.next]))

    # --- what to do

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Build():
                    self._build(action)
                case Publish(number):
                    self._publish(number)
                case End(number):
                    self._end(number)
                case Settle(request, result, number, reason) if isinstance(request, tuple):
                    self._settle(self._open.pop(request), result.value, reason)
        if actions:
            self._display.show()

    def _build(self, action: Build) -> None:
        number = action.generation
        running = self._running.get(number) or RunningGeneration(self._context, number, action.wiring)
        if (live := self._life.live) is not None and (tables := self._running[live.number].tables) is not None:
            running.is_beside, running.expected_bytes = True, tables.nbytes
        running.on_caught_up = lambda: self.post(Warm(number))
        running.on_commit = lambda end: self.post(Committed(number, end))
        running.on_failure = lambda error: self.post(Broken(number, str(error)))
        running.on_retry = lambda error: self._status.report("WARN", f"Generation {number}: trying again, for {error}")
        self._running[number] = running
        self._swap_began[number] = time.monotonic()
        how = "Resuming" if action.resumed else "Building"
        self._status.report("INFO", f"{how} generation {number}: {said(action.wiring)}")
        self._builds[number] = _work(running.build)
        self._builds[number].add_done_callback(lambda job: self.post(Built(number, _error_of(job))))

    def _take_built(self, number: int, error: Exception | None) -> None:
        generation = self._life.generations.get(number)
        if generation is None or generation.state is not GenerationState.BUILDING:
            return
        moment = time.monotonic()
        if isinstance(error, NotEnoughSlotsError | NotEnoughMemoryError) and self._life.lingering:
            self._status.report(
                "INFO", f"Generation {number} does not fit beside those that linger; they are ended first"
            )
            self._do(self._life.make_room(moment))
        elif error is not None:
            reason = f"{error.condition}: {error.sentences}" if isinstance(error, EvertableError) else repr(error)
            self._do(self._life.failed(number, reason, moment, lasting=is_lasting(error)))
        else:
            running = self._running[number]
            if running.identity is not None:
                self._watch.add(number, self._config.rewired(running.wiring), running.identity, running.positions)
            self._do(self._life.started(number, moment))
            if running.is_warm:
                self._publish_if_sound(number)

    def _publish_if_sound(self, number: int) -> None:
        """Publishes a warm generation; one that somebody swapped to is reviewed first, and held if it looks broken."""
        generation, moment = self._life.generations.get(number), time.monotonic()
        if generation is None or generation.state is not GenerationState.WARMING:
            return
        review = self._review(generation)
        if review is None:
            self._do(self._life.caught_up(number, moment))
            return
        is_forced = any(self._open[request].force for request in generation.requests if request in self._open)
        is_held = bool(review.reasons) and self._config.swap.guard and not is_forced
        if review.remark:
            result = Result.HELD if is_held else Result.APPLIED
            wiring = self._keys.message(generation.wiring)
            self._display.review = {**review.as_json(), "result": result.value, "message": wiring}
        if is_held:
            self._do(self._life.held(number, review.hold_reason))
        else:
            self._running[number].replaced = review.before
            self._do(self._life.caught_up(number, moment, review.remark))

    def _review(self, generation: Generation) -> Review | None:
        """Reviews a generation that a control message asked for; None if nobody did, or nothing else can be shown."""
        kept, tables = self._life.kept_instead_of(generation), self._running[generation.number].tables
        if not generation.requests or generation.resumed or kept is None or tables is None:
            return None
        live = self._life.live
        shown = None if live is None else self._running[live.number].tables
        before = None if shown is None else Figures.of(shown)
        return Review.of(generation.number, generation.wiring, Figures.of(tables), before, kept)

    def _publish(self, number: int) -> None:
        running = self._running[number]
        running.published = iso()
        self._publication += 1
        records: list[Record] = [*running.records, Numbers(max(self._life.generations), self._publication)]
        if self._life.previous is not None:
            records.append(PreviousWiring(self._life.previous))
        self._state_writer.write(*records, *self._display.shown_before(number))
        # Before the flip: who restarts in between goes on with the new one.
        self._state_writer.flush(self._shutdown.left(FLUSH_S))
        self._display.drop_review_of_another(number)
        publication = self._publisher(number, running.shown(self._config), self._display.show_status)
        began = self._swap_began.pop(number, None)
        took = 0.0 if began is None else time.monotonic() - began
        how = "live again" if began is None else f"published after {took:.1f} s"
        self._counts.swapped("rolled_back" if began is None else "published", took)
        self._status.report("INFO", f"Generation {number} {how} (publication {publication})")

    def _end(self, number: int) -> None:
        running, job = self._running[number], self._builds.get(number)
        running.give_up()
        self._watch.remove(number)

        def end() -> None:
            try:
                self._context.engine.stop(number)  # ends the wait of a build that is under way
            finally:
                if job is not None:
                    job.exception()
                running.end()

        generation = self._life.generations[number]
        if generation.state in (GenerationState.FAILED, GenerationState.SUPERSEDED, GenerationState.HELD):
            self._counts.swapped(generation.state.value, time.monotonic() - self._swap_began.get(number, 0.0))
        reason = f": {generation.reason}" if generation.reason else ""
        level = {GenerationState.FAILED: "ERROR", GenerationState.HELD: "WARN"}.get(generation.state, "INFO")
        self._status.report(level, f"Generation {number} {generation.state}{reason}")
        _work(end).add_done_callback(lambda done: self.post(Ended(number, _error_of(done))))

    def _shut_down(self) -> None:
        """All ends but what stays, which is halted.

        One that was fenced stops its queries and deletes nothing: all of it is another one's now.
        """
        if self.failure is not None:
            self._status.report("ERROR", f"Stopping: {self.failure}")
            wait([_work(running.halt) for running in self._running.values()], self._shutdown.left())
            return
        self._status.report("INFO", "Stopping")
        self._do(self._life.close())
        staying = self._life.staying
        engine_s = self._shutdown.left(ENGINE_S)
        closing = _work(lambda: self._context.engine.close(engine_s))  # all queries at once, also while Kafka is away
        while len(self._life.generations) > (1 if staying else 0):
            try:
                self._take(self._events.get(timeout=self._shutdown.left()))
            except queue.Empty:
                break
        wait([closing], self._shutdown.left())
        if staying:
            wait([_work(self._running[staying.number].halt)], self._shutdown.left())
        self._display.show()  # also what has ended now is remembered


def _source(record: ControlMessage) -> str:
    return f"partition {record.partition}, offset {record.offset}" if record.partition >= 0 else "direct"


def _work(work: Callable[[], None]) -> Future[None]:
    return run_in_background(work, "evertable-generation")


def _error_of(job: Future[None]) -> Exception | None:
    if job.cancelled():
        return EvertableError("It was cancelled.")
    error = job.exception()
    return error if isinstance(error, Exception) or error is None else RuntimeError(repr(error))
