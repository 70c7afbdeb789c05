"""The orchestrator: carries out the actions of the lifecycle, and reports events to it.

One thread takes one event after the other, so nothing here needs a lock. Whatever takes time or asks Kafka (building,
checking topics, ending) runs on another thread, which posts an event when it is done. Only a publication is waited for:
until viewers see the new generation, no event may change what they see.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass

import structlog

from evertable.background import run_in_background
from evertable.control.messages import keys_of
from evertable.engine.protocol import Died, EngineEvent, EpochCommitted, Failed, Started
from evertable.errors import EvertableError, NotEnoughMemoryError, NotEnoughSlotsError
from evertable.generations.context import GenerationContext
from evertable.generations.events import (
    Broken,
    Built,
    Checked,
    Ended,
    EventQueue,
    Message,
    OrchestratorEvent,
    Quarantined,
    Stop,
    Warm,
)
from evertable.generations.lifecycle import (
    Action,
    End,
    Generation,
    GenerationState,
    Lifecycle,
    Publish,
    Result,
    Settle,
    StartBuild,
)
from evertable.generations.message_queue import FindMissing, MessageQueue
from evertable.generations.overview import CurrentOverview, Overview
from evertable.generations.retrying import is_lasting
from evertable.generations.review import Figures, Review
from evertable.generations.running import RunningGeneration
from evertable.generations.source_events import ClusterEvent, SourceEvent
from evertable.generations.stall import ResumeDeadline, SourceMonitor
from evertable.generations.state_writer import StateWriter
from evertable.generations.status import StatusReporter
from evertable.generations.status_tables import StatusTables, iso
from evertable.generations.watch import TopicWatch
from evertable.schema.wiring import Wiring
from evertable.shutdown import Shutdown
from evertable.state.records import Numbers, PreviousWiring, Record
from evertable.state.state import AppState
from evertable.tables.table import Table

BEAT_S = 1.0
ENGINE_S = 6.0
FLUSH_S = 5.0

log = structlog.get_logger()


@dataclass(frozen=True)
class Ports:
    """What the orchestrator uses."""

    events: EventQueue
    overview: CurrentOverview
    status_tables: StatusTables
    state_writer: StateWriter
    watch: TopicWatch
    sweep: Callable[[int], None]
    """Deletes what an ended generation has left, later."""
    find_missing: FindMissing
    publish: Callable[[int, Mapping[str, Table], Callable[[], None]], object]
    """Flips all names to a generation's tables, and calls a function with the flip."""
    new_generation: Callable[[int, Wiring], RunningGeneration]
    shutdown: Shutdown


class Orchestrator:
    """Drives the generations of one app, from ``start`` until ``stop``."""

    def __init__(self, context: GenerationContext, life: Lifecycle, ports: Ports, state: AppState) -> None:
        self.failure: Exception | None = None
        """Why it ended, if nobody stopped it."""
        self._config = context.config
        self._context = context
        self._report = context.report
        self._life = life
        self._ports = ports
        self._running: dict[int, RunningGeneration] = {}
        self.messages = MessageQueue(
            context,
            life,
            ports.status_tables,
            ports.state_writer,
            ports.find_missing,
            lambda wiring, request: self._do(life.want(wiring, time.monotonic(), request)),
        )
        self._publication = state.publication
        self._display = StatusReporter(
            life, ports.status_tables, self._running, ports.state_writer.write, self._config.server.max_memory_mb
        )
        self._display.last_applied = state.live.published if state.live else None
        self._resume_deadline = ResumeDeadline(self._config.swap.timeout_s)
        self._sources = SourceMonitor(self._report, context.engine.restart)
        self._next_beat = 0.0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="evertable-orchestrator", daemon=True)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def adopt(self, running: RunningGeneration) -> None:
        """Takes over a generation that the lifecycle will resume; called before the start."""
        self._running[running.number] = running

    def start(self, first: list[Action]) -> None:
        """Begins with these actions of the lifecycle."""
        self._first = first
        self._thread.start()

    def stop(self) -> None:
        """Ends everything but what a restart resumes; returns when it has, or at the shutdown's deadline."""
        self._ports.shutdown.begin()
        self._context.post(Stop())
        self._thread.join(self._ports.shutdown.left())

    # --- the loop

    def _run(self) -> None:
        try:
            self._do(self._first)
            while not self._stopping:
                self._turn()
            self._shut_down()
        except Exception as error:
            log.exception("The orchestrator failed and stops")
            self.failure = error

    def _turn(self) -> None:
        self._take_next(min(self._life.next_due, self._next_beat) - time.monotonic())
        now = time.monotonic()
        if self._life.next_due <= now:
            self._do(self._life.tick(now))
        if self._next_beat <= now:
            self._next_beat = now + BEAT_S
            self._give_up_a_stalled_resume(now)
            self._show()

    def _take_next(self, timeout_s: float) -> bool:
        """Handles the next event; returns whether there was one within that time."""
        try:
            event = self._ports.events.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return False
        self._take(event)
        return True

    def _show(self) -> None:
        """Brings the operators' tables and the overview up to date."""
        self._display.show()
        live, coming = self._life.live, self._life.coming
        self._ports.overview.snapshot = Overview(
            self._running.get(live.number) if live else None,
            self._running.get(coming.number) if coming else None,
            self._life.previous,
            self._display.review,
        )

    def _take(self, event: OrchestratorEvent) -> None:
        match event:
            case Message():
                self.messages.receive(event)
            case Checked():
                self.messages.take_checked(event)
            case Built(number, error):
                self._take_built(number, error)
            case Warm(number):
                self._publish_if_sound(number)
            case Quarantined(number, reasons):
                self._show_without_quarantined(number, reasons)
            case Broken(number, reason):
                self._break(number, reason)
            case Ended(number, error):
                if error is not None:
                    self._report("WARN", f"Generation {number} did not end cleanly: {error}")
                self._ports.sweep(number)
                del self._running[number]
                self._do(self._life.ended(number, time.monotonic()))
            case Stop(failure):
                self._ports.shutdown.begin()
                self._stopping, self.failure = True, failure
            case SourceEvent(number):
                if event.is_fatal:
                    self._break(number, event.message)
                elif number in self._running:
                    self._sources.handle(event, self._running[number])
            case ClusterEvent(message, is_lost):
                self._display.set_kafka_outage(message if is_lost else "")
                self._report("WARN" if is_lost else "INFO", message)
            case _:
                self._take_engine(event)

    def _take_engine(self, event: EngineEvent) -> None:
        match event:
            case Started(number) if number in self._running:
                self._running[number].query_started(event)
            case EpochCommitted(number) if number in self._running:
                self._running[number].made_progress(event)
            case Failed(number, condition, message, retriable) if number in self._running:
                self._running[number].query_failed(message)
                if not retriable:
                    self._break(number, f"{condition}: {message}")
                else:
                    what = f"The query of generation {number} failed and is started again"
                    self._report("WARN", f"{what}: [{condition}] {message}")
            case Died(reason):
                self._report("WARN", f"Spark ended and is started again: {reason}")
                for running in self._running.values():
                    running.query_failed(reason)

    def _show_without_quarantined(self, number: int, reasons: Sequence[str]) -> None:
        """Flips the names to the new joined table of a live generation."""
        for reason in reasons:
            self._report("WARN", f"Generation {number}: {reason}; its rows are shown without matches")
        if (live := self._life.live) is not None and live.number == number:
            self._publication += 1
            self._ports.state_writer.write(Numbers(max(self._life.generations), self._publication))
            self._ports.publish(number, self._running[number].public_tables, self._display.show_status)

    def _break(self, number: int, reason: str) -> None:
        if number in self._life.generations:
            self._report("ERROR", f"Generation {number} cannot go on: {reason}")
            if self._life.generations[number].state is GenerationState.LIVE:
                _work(self._running[number].halt)  # its tables stay: new rows may be another topic's
            self._do(self._life.failed(number, reason, time.monotonic()))

    def _give_up_a_stalled_resume(self, moment: float) -> None:
        coming = self._life.coming
        feed = self._running[coming.number].feed if coming is not None and coming.resumed else None
        if coming is None or feed is None:
            return
        progress = (feed.folded, feed.progress.reached)
        if self._resume_deadline.is_over(moment, progress, is_kafka_unreachable=self._display.is_kafka_unreachable):
            limit = f"{self._resume_deadline.timeout_s:g} s (swap.timeout_s)"
            self._break(coming.number, f"resuming it has made no progress for {limit}")

    # --- actions

    def _do(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case StartBuild():
                    self._build(action)
                case Publish(number):
                    self._publish(number)
                case End(number):
                    self._end(number)
                case Settle(request, result, reason):
                    if result in (Result.APPLIED, Result.UNCHANGED):
                        self._display.last_applied = iso()
                    self.messages.settle(request, result.value, reason)
        if actions:
            self._show()

    def _build(self, action: StartBuild) -> None:
        number = action.generation
        running = self._running.get(number) or self._ports.new_generation(number, action.wiring)
        if (live := self._life.live) is not None and (tables := self._running[live.number].tables) is not None:
            running.is_beside_live, running.expected_bytes = True, tables.nbytes
        self._running[number] = running
        running.swap_began = time.monotonic()
        how = "Resuming" if action.resumed else "Building"
        self._report("INFO", f"{how} generation {number}: {action.wiring}")
        running.building = _work(running.build)
        running.building.add_done_callback(lambda job: self._context.post(Built(number, job.exception())))

    def _take_built(self, number: int, error: BaseException | None) -> None:
        generation = self._life.generations.get(number)
        if generation is None or generation.state is not GenerationState.BUILDING:
            return
        moment = time.monotonic()
        if isinstance(error, NotEnoughSlotsError | NotEnoughMemoryError) and self._life.lingering:
            self._report("INFO", f"Generation {number} does not fit beside those that linger; they are ended first")
            self._do(self._life.make_room(moment))
        elif error is not None:
            reason = f"{error.condition}: {error.sentences}" if isinstance(error, EvertableError) else repr(error)
            self._do(self._life.failed(number, reason, moment, lasting=is_lasting(error)))
        else:
            running = self._running[number]
            if running.identity is not None:
                self._ports.watch.add(number, self._config.rewired(running.wiring), running.identity, running.positions)
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
        is_forced = any(self.messages.is_forced(request) for request in generation.requests)
        is_held = bool(review.broken) and self._config.swap.guard and not is_forced
        if review.findings:
            self._display.review = {
                "generation": number,
                **review.as_json(),
                "result": (Result.HELD if is_held else Result.APPLIED).value,
                "message": keys_of(self._config).message(generation.wiring),
            }
        if is_held:
            self._do(self._life.held(number, review.hold_reason))
        else:
            self._running[number].replaced_figures = review.before
            self._do(self._life.caught_up(number, moment, review.remark))

    def _review(self, generation: Generation) -> Review | None:
        """Reviews a generation that a control message asked for; None if nobody did, or nothing else can be shown."""
        kept, tables = self._life.kept_instead_of(generation), self._running[generation.number].tables
        if not generation.requests or generation.resumed or kept is None or tables is None:
            return None
        live = self._life.live
        shown = self._running[live.number].tables if live else None
        return Review.of(Figures.of(tables), Figures.of(shown) if shown else None, kept)

    def _publish(self, number: int) -> None:
        """Shows a generation under all names, and waits until viewers see it."""
        running, writer = self._running[number], self._ports.state_writer
        running.published = iso()
        self._publication += 1
        records: list[Record] = [*running.records, Numbers(max(self._life.generations), self._publication)]
        if self._life.previous is not None:
            records.append(PreviousWiring(self._life.previous))
        writer.write(*records, *self._display.shown_before(number))
        writer.flush(self._ports.shutdown.left(FLUSH_S))  # a restart before the flip goes on with the new generation
        self._display.drop_review_of_another(number)
        self._ports.publish(number, running.public_tables, self._display.show_status)
        began, running.swap_began = running.swap_began, 0.0
        took = time.monotonic() - began if began else 0.0
        how = f"published after {took:.1f} s" if began else "live again"
        self._context.counts.swapped("published" if began else "rolled_back", took)
        self._report("INFO", f"Generation {number} {how} (publication {self._publication})")

    def _end(self, number: int) -> None:
        running, generation = self._running[number], self._life.generations[number]
        running.give_up()
        self._ports.watch.remove(number)
        if generation.state in (GenerationState.FAILED, GenerationState.SUPERSEDED, GenerationState.HELD):
            self._context.counts.swapped(generation.state.value, time.monotonic() - running.swap_began)
        reason = f": {generation.reason}" if generation.reason else ""
        level = {GenerationState.FAILED: "ERROR", GenerationState.HELD: "WARN"}.get(generation.state, "INFO")
        self._report(level, f"Generation {number} {generation.state}{reason}")
        _work(running.end).add_done_callback(lambda job: self._context.post(Ended(number, job.exception())))

    def _shut_down(self) -> None:
        """Ends all generations but the one that a restart resumes, which is halted.

        A server that was fenced stops its queries and deletes nothing: everything belongs to its successor.
        """
        shutdown = self._ports.shutdown
        self.messages.close()
        if self.failure is not None:
            self._report("ERROR", f"Stopping: {self.failure}")
            wait([_work(running.halt) for running in self._running.values()], shutdown.left())
            return
        self._report("INFO", "Stopping")
        self._do(self._life.close())
        staying = self._life.staying
        engine_s = shutdown.left(ENGINE_S)
        closing = _work(lambda: self._context.engine.close(engine_s))  # all queries at once, even without Kafka
        while len(self._life.generations) > (1 if staying else 0):
            if not self._take_next(shutdown.left()):
                break
        wait([closing], shutdown.left())
        if staying:
            wait([_work(self._running[staying.number].halt)], shutdown.left())
        self._show()  # so that what has ended by now is remembered


def _work(work: Callable[[], None]) -> Future[None]:
    return run_in_background(work, "evertable-generation")
