"""All that ``evertable serve`` runs, in one process: server, control, orchestrator, and the engine as its child."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Container, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from evertable.background import run_concurrently, run_in_background
from evertable.changelog.resumption import ChangelogEnd, shortfall
from evertable.changelog.schema import Side
from evertable.config import Config, Role
from evertable.config.folders import state_dir
from evertable.control.listener import ControlListener
from evertable.control.messages import FORCE, ControlMessage, FoldedMessages, fold, keys_of
from evertable.control.topic import ControlTopic, Description
from evertable.control.writer import Writer
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.engine.spec import local_path
from evertable.errors import (
    EvertableError,
    FencedError,
    KafkaUnreachableError,
    NothingBeforeError,
    NotReadyError,
    TopicNotFoundError,
)
from evertable.generations.build import changelog_topics
from evertable.generations.checkpoint_folders import folder_of
from evertable.generations.control_reading import ControlReading, read_control
from evertable.generations.counters import GenerationCounters
from evertable.generations.events import Message, Stop
from evertable.generations.identity import identity_of
from evertable.generations.lifecycle import Action, Lifecycle, Rules
from evertable.generations.orchestrator import Orchestrator
from evertable.generations.running import GenerationContext, RunningGeneration
from evertable.generations.state_writer import StateWriter
from evertable.generations.status_tables import DEAD_LETTERS, StatusTables, iso, iso_of_ms
from evertable.generations.suggestions import offered, suggested
from evertable.generations.sweeper import Sweeper
from evertable.generations.topics import changelog_end, topic_ids
from evertable.generations.watch import TopicWatch
from evertable.kafka.admin import Admin, AdminPool
from evertable.kafka.outages import WarningThrottle
from evertable.kafka.topics import topic_id
from evertable.live.hub import Hub
from evertable.schema.wiring import Wiring
from evertable.server.live import create_live_app
from evertable.server.metrics import Metrics
from evertable.server.run import Server
from evertable.shutdown import Shutdown
from evertable.state.identity import mismatch
from evertable.state.records import ChangelogRecord, GenerationRow, LiveRecord, PreviousWiring
from evertable.state.state import AppState
from evertable.state.state_topic import StateTopic
from evertable.tables.catalog import Catalog
from evertable.tables.table import Table

T = TypeVar("T")

AGAIN_S = 2.0
FLIP_S = 30.0
LEAVING_S = 1.0
SWEEP_S = 2.0
ASK_S = 3.0
"""For whether a topic is there: one that does not say so in time may have it."""
DIRECT = -1
"""The partition of wishes that did not come by the control topic."""


class _StoppedError(Exception):
    """It was told to stop while it waited."""


class Application:
    """One app, from nothing to serving and back; ``run`` returns when ``stop`` was called or it cannot go on.

    ``folder`` is for what it keeps on disk, where the configuration does not say; ``on_up`` hears the server's address.
    """

    def __init__(
        self,
        config: Config,
        *,
        reset_wiring: bool = False,
        take_over: bool = False,
        folder: Path | None = None,
        on_up: Callable[[str], None] = print,
    ) -> None:
        self._config = config
        self._folder = folder or state_dir()
        self._reset_wiring = reset_wiring
        self._take_over = take_over
        self._url = ""
        self._on_up = on_up
        self._keys = keys_of(config)
        self._shutdown = Shutdown()
        self._direct = itertools.count()
        self._orchestrator: Orchestrator | None = None
        self._life: Lifecycle | None = None
        self._watch: TopicWatch | None = None
        self._fenced: FencedError | None = None
        self._metrics = Metrics()
        self._counts = counts = GenerationCounters(self._metrics.swapped)
        self._metrics.read("evertable_changes_folded_total", lambda: counts.folded)
        self._metrics.read("evertable_rejects_total", lambda: {(name,): n for name, n in counts.rejects.items()})
        self._status = StatusTables(self._keys, lambda: self._catalog.ring())
        names = [config.table_of(config.left), config.table_of(config.right), config.joined_table, DEAD_LETTERS]
        self._catalog = Catalog(names, self._status.tables)
        self._control = ControlTopic(config.kafka, config.control.topic) if config.control.enabled else None
        self._control_id: str | None = None
        self._writer = Writer(self._control) if self._control else None

    @property
    def ready(self) -> bool:
        """Whether every public name shows a table."""
        return self._catalog.ready

    def stop(self) -> None:
        """From any thread, or a signal's handler."""
        self._shutdown.begin()

    async def run(self) -> None:
        """The server first, so that people can see how the rest comes up."""
        app, hub = create_live_app(
            self._catalog,
            self._config.server,
            self._metrics,
            control=self._wish,
            rollback=self._roll_back,
            status=self._flow,
            topics=self._topics,
        )
        async with Server(app, self._config.server) as server:
            self._url = server.url
            self._on_up(server.url)
            try:
                await asyncio.to_thread(self._orchestrate, hub)
            finally:
                if self._writer is not None:
                    self._writer.close()

    def _orchestrate(self, hub: Hub) -> None:
        """On a thread: all that talks to Kafka and Spark, opened in order and closed in the other."""
        config = self._config
        with ExitStack() as ends:
            self._status.report("INFO", f"Starting, app {config.app}")
            log = self._folder / config.app / "spark.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            memory = StateTopic.of(config, self._shutdown, self._url)
            ends.callback(memory.close)  # last of all: it is what a successor waits for
            engine = Engine(EngineSettings.of(config.engine, log))
            opening = run_in_background(engine.open)
            ends.callback(lambda: engine.close(self._shutdown.left()))
            ends.callback(self._shutdown.begin)  # whatever ends it: from here on all share one deadline
            with suppress(_StoppedError):
                state = self._until_it_works(lambda: memory.open(take_over=self._take_over), opening)
                state_writer = StateWriter(memory, self._stop_fenced, self._shutdown)
                state_writer.start()  # before Spark is there, which takes longer than an owner may be silent
                ends.callback(state_writer.close)
                self._until_done(opening)
                topics = changelog_topics(config)
                checkpoints = self._until_it_works(lambda: self._checkpoints(memory.topic))
                context = GenerationContext(config, topics, engine, checkpoints, self._catalog.ring, self._counts)
                self._serve(context, state, memory, state_writer, hub, ends)
            if self._fenced is not None:
                raise self._fenced

    def _checkpoints(self, state_topic: str) -> str:
        """The folder of the app's checkpoints, which another Kafka's app of that name never shares."""
        root = self._config.engine.checkpoint_dir or str(self._folder / "checkpoints")
        admin = Admin(self._config.changelog_kafka.for_librdkafka(Role.ADMIN))
        folder = folder_of(root, self._config.app, topic_id(admin, state_topic))
        if local_path(folder) is not None and "@" in folder.removeprefix(root):
            why = f"'{root}/{self._config.app}' holds those of another app of that name"
            self._status.report("INFO", f"Checkpoints are kept in '{folder}': {why}")
        return folder

    def _stop_fenced(self, error: FencedError) -> None:
        """Ends this one, on the thread of the state writer: another server has taken over."""
        self._fenced = error
        if self._orchestrator is not None:
            self._orchestrator.post(Stop(error))
        self._shutdown.begin()

    def _serve(
        self,
        context: GenerationContext,
        state: AppState,
        memory: StateTopic,
        state_writer: StateWriter,
        hub: Hub,
        ends: ExitStack,
    ) -> None:
        state = self._without_other_sources(state, memory)
        reading = self._until_it_works(lambda: self._read_control(state))
        folded, fallbacks = self._fold(state, reading)
        if reading is not None and reading.is_another_topic:
            state = self._without_verdicts(state, memory)
        self._remember(state)
        last = self._until_it_works(lambda: self._last_number(context, state))
        life = self._life = Lifecycle(_rules(self._config), last, fallbacks)
        life.previous = state.previous
        if reading is not None:  # first of all, also what an earlier version wrote without the topic's id or name
            state_writer.write(*reading.offsets)
        watch = self._watch = TopicWatch(lambda report: orchestrator.post(report))
        sweeper = Sweeper(context.engine.wait_released, context.delete, self._status.report)
        self._metrics.read("evertable_lag_records", lambda: _lag(life, watch))
        orchestrator = self._orchestrator = Orchestrator(
            self._config,
            context,
            life,
            self._status,
            lambda *flip: self._flip(hub, *flip),
            state_writer,
            watch,
            sweeper.take,
            self._counts,
            self._missing,
            self._shutdown,
            state.publication,
            state.live.published if state.live else None,
        )
        self._catalog.count_from(state.publication)
        context.engine.listen(orchestrator.post)
        first = self._first(context, state, life, folded, orchestrator)
        state_writer.write(*self._last_words(state, life.generations))
        self._until_it_works(lambda: self._clean_up(context, set(life.generations)))
        sweeper.start()
        ends.callback(lambda: sweeper.close(self._shutdown.left(SWEEP_S)))
        ends.callback(lambda: context.engine.close(self._shutdown.left()))  # before: with it, all producers are closed
        ends.callback(state_writer.close)
        watch.start()
        ends.callback(lambda: watch.close(self._shutdown.left()))
        orchestrator.start(first)
        if self._control is not None and reading is not None:
            listener = ControlListener(
                self._control,
                reading.after,
                lambda record: orchestrator.post(Message(record, topic_id=listener.topic_id)),
                topic_id=self._control_id,
                create_ok=True,
                report=self._status.report,
            )
            listener.start()
            ends.callback(lambda: listener.close(self._shutdown.left()))
        if self._writer is not None:
            self._writer.connect()
        while not self._shutdown.wait(0.1) and orchestrator.alive:
            pass
        self._shutdown.begin()
        leaving = [
            run_in_background(memory.announce_leaving),
            run_in_background(watch.close),
        ]  # what may wait for Kafka, at once
        if self._control is not None:
            leaving.append(run_in_background(listener.close))
        orchestrator.stop()
        wait(leaving, self._shutdown.left(LEAVING_S))
        if orchestrator.failure is not None:
            sweeper.drop()
            raise orchestrator.failure

    # --- the start

    def _until_it_works(self, work: Callable[[], T], meanwhile: Future[Any] | None = None) -> T:
        """What ``work`` returns: Kafka may come up after us, or be away for a while.

        If ``meanwhile`` fails, that is raised: there is no use in waiting for Kafka then.
        """
        warnings = WarningThrottle()
        while not self._shutdown.begun:
            try:
                done = work()
            except KafkaUnreachableError as error:
                if warnings.due(str(error)):
                    self._status.report("WARN", f"{error} Trying again.")
                self._shutdown.wait(AGAIN_S)
                if meanwhile is not None and meanwhile.done():
                    meanwhile.result()
            else:
                if warnings.over():
                    self._status.report("INFO", "Kafka answers now")
                return done
        raise _StoppedError

    def _until_done(self, opening: Future[Any]) -> None:
        while not opening.done():
            if self._shutdown.wait(0.05):
                raise _StoppedError
        opening.result()

    def _remember(self, state: AppState) -> None:
        """Shows what was before the restart."""
        for verdict in state.control_results:
            place = (verdict.partition, verdict.offset)
            self._status.message(place, verdict.given, iso_of_ms(verdict.ts), verdict.result, verdict.reason)
        for row in state.generations:
            self._status.generation(row)

    def _without_other_sources(self, state: AppState, memory: StateTopic) -> AppState:
        """Lets the configuration win over a wiring that is remembered of sources with other names."""
        remembered = state.live.identity.sources if state.live else None
        configured = (self._config.left.name, self._config.right.name)
        if remembered in (None, configured):
            return state
        self._reset_wiring = True
        (was_left, was_right), (left, right) = remembered, configured
        self._status.report(
            "WARN",
            f"The configuration joins '{left}' and '{right}', and the last live generation joined '{was_left}' and "
            f"'{was_right}': the remembered wiring is dropped, and that of the configuration is used.",
        )
        self._until_it_works(lambda: memory.forget(PreviousWiring.key))
        return replace(state, previous=None)

    def _without_verdicts(self, state: AppState, memory: StateTopic) -> AppState:
        """Forgets verdicts on messages of another control topic: their offsets are those of other messages now."""
        self._until_it_works(lambda: memory.forget(*(verdict.key for verdict in state.control_results)))
        return replace(state, control_results=())

    def _read_control(self, state: AppState) -> ControlReading | None:
        """What came on the control topic since the last start."""
        if self._control is None or self._writer is None:
            return None
        self._control_id = self._found(self._control).id
        is_own = self._control.name == self._keys.own.default_control
        return read_control(self._control, state, self._writer, self._status.report, is_own=is_own)

    def _fold(self, state: AppState, reading: ControlReading | None) -> tuple[FoldedMessages, list[Wiring]]:
        """What is wanted at the start, and what to fall back to."""
        configured = self._config.wiring
        last = state.live.wiring if state.live and not self._reset_wiring else configured
        messages = () if reading is None else reading.messages
        return fold(messages, last, self._keys), [last, configured]

    def _found(self, control: ControlTopic) -> Description:
        """The control topic, once it is there."""
        warnings = WarningThrottle()
        while not self._shutdown.begun:
            check = control.ensure(create_ok=True)
            if check.exists:
                if warnings.over():
                    self._status.report("INFO", f"The control topic '{control.name}' is there now")
                return control.describe()
            if warnings.due(check.warning):
                self._status.report("WARN", f"{check.warning} Trying again.")
            self._shutdown.wait(AGAIN_S)
        raise _StoppedError

    def _first(
        self,
        context: GenerationContext,
        state: AppState,
        life: Lifecycle,
        folded: FoldedMessages,
        orchestrator: Orchestrator,
    ) -> list[Action]:
        """Resume what was live, if it is what is wanted and can be; else build."""
        live, wanted, request = state.live, folded.wiring, orchestrator.recall(folded, self._control_id)
        if live is not None and live.wiring == wanted and not self._reset_wiring:
            why_not = self._until_it_works(lambda: self._why_not(context, live, state.changelog))
            if why_not is None:
                starts = (live.identity.left.offsets, live.identity.right.offsets)
                running = RunningGeneration(context, live.generation, live.wiring, starts, created=live.created)
                orchestrator.adopt(running)
                return life.resume(live.generation, live.wiring, request)
            self._status.report("WARN", f"Generation {live.generation} is not resumed: {why_not}")
        return life.want(wanted, time.monotonic(), request)

    def _last_words(self, state: AppState, resumed: Container[int]) -> list[GenerationRow]:
        """On generations that people saw, and whose end nobody told: who was to do so is no more."""
        known, live = {row.generation: row for row in state.generations}, state.live
        if live is not None and live.generation not in known:
            row = GenerationRow(live.generation, live.wiring, "live", live.created, live.published)
            known[live.generation] = row
        left = [row for row in known.values() if not row.retired and row.generation not in resumed]
        reason = "not taken up again by the next start"
        ended = [replace(row, state="retired", retired=iso(), reason=reason) for row in left]
        for row in ended:
            self._status.generation(row)
        return ended

    def _why_not(self, context: GenerationContext, live: LiveRecord, changelog: ChangelogRecord | None) -> str | None:
        """What speaks against resuming a generation."""
        if live.generation not in context.topics.list():
            return f"Its changelog '{live.changelog_topic}' is gone."
        if live.checkpoint != context.checkpoint(live.generation) or live.generation not in context.checkpoints_left():
            return f"Its checkpoint '{live.checkpoint}' is gone."
        try:
            config = self._config.rewired(live.wiring)
            if changelog is not None and changelog.generation == live.generation:
                remembered = ChangelogEnd(changelog.topic_id, changelog.ends)
                if why := shortfall(remembered, changelog_end(config, live.changelog_topic)):
                    return why
            offsets = (live.identity.left.offsets, live.identity.right.offsets)
            return mismatch(live.identity, identity_of(config, topic_ids(config), offsets))
        except KafkaUnreachableError:
            raise  # that speaks against nothing
        except EvertableError as error:
            return str(error)

    def _last_number(self, context: GenerationContext, state: AppState) -> int:
        rows = (row.generation for row in state.generations)
        return max([0, state.last_generation, *rows, *context.topics.list(), *context.checkpoints_left()])

    def _clean_up(self, context: GenerationContext, kept: set[int]) -> None:
        """What a dead orchestrator left behind."""
        for number in {*context.topics.list(), *context.checkpoints_left()} - kept:
            if self._shutdown.begun:  # it may be a successor's by now
                return
            self._status.report("INFO", f"Deleting what is left of generation {number}")
            context.delete(number)

    # --- for the orchestrator

    def _flip(self, hub: Hub, generation: int, tables: Mapping[str, Table], also: Callable[[], None]) -> int:
        flipping = asyncio.run_coroutine_threadsafe(hub.publish(generation, tables, also), hub.loop)
        return flipping.result(FLIP_S).number

    def _missing(self, topics: Mapping[Side, str]) -> str:
        """Which of these topics does not exist, and which may be meant; empty if Kafka does not answer in time."""
        admins, timeout_s = AdminPool(), self._shutdown.left(ASK_S)

        def look(side: Side, topic: str) -> str:
            kafka = self._config.source_kafka((self._config.left, self._config.right)[side])
            properties = kafka.for_librdkafka(Role.ADMIN)
            try:
                topic_id(admins.of(properties), topic, timeout_s=timeout_s)
            except TopicNotFoundError as missing:
                return suggested(missing, properties, self._keys.own).sentences
            except EvertableError:
                return ""
            return ""

        return next(filter(None, run_concurrently(*(partial(look, *each) for each in topics.items()))), "")

    # --- for people

    def _flow(self) -> Mapping[str, Any]:
        """How fast rows come, how far behind they are, and how far a build has come."""
        orchestrator, watch, life = self._orchestrator, self._watch, self._life
        if orchestrator is None or watch is None or life is None:
            return {}
        told = orchestrator.flow
        lag = _lag(life, watch)
        if lag and "flow" in told:
            told["flow"]["lag"] = int(sum(lag.values()))
        return told

    async def _topics(self) -> Mapping[str, list[str]]:
        return await asyncio.to_thread(offered, self._config)

    # --- wishes by HTTP

    async def _wish(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """A control message that came by HTTP: written to the control topic, so that there is one truth."""
        return await asyncio.to_thread(self._write, message)

    async def _roll_back(self) -> Mapping[str, Any]:
        if self._life is None:
            raise NotReadyError("The orchestrator is not there yet.", "Try again soon.")
        before = self._life.previous
        if before is None:
            raise NothingBeforeError("There was no other wiring before this one.")
        message = {**self._keys.message(before), FORCE: True}  # it was on show before: a rollback is never held
        return await asyncio.to_thread(self._write, message)

    def _write(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._writer is not None:
            partition, offset = self._writer.write(message)
            return {"partition": partition, "offset": offset}
        answer: Future[Mapping[str, Any]] = Future()
        if self._orchestrator is None:
            raise NotReadyError("The orchestrator is not there yet.", "Try again soon.")
        record = ControlMessage(DIRECT, next(self._direct), int(time.time() * 1000), orjson.dumps(message))
        self._orchestrator.post(Message(record, answer))
        return {"partition": record.partition, "offset": record.offset, **answer.result(FLIP_S)}


def _rules(config: Config) -> Rules:
    swap = config.swap
    return Rules(swap.mode.value == "eager", swap.timeout_s, swap.linger_s, swap.max_lingering)


def _lag(life: Lifecycle, watch: TopicWatch) -> Mapping[tuple[str, str], float]:
    """Of the live generation, by source and partition."""
    live = life.live
    lag = watch.lag(live.number) if live else {}
    return {(source, str(partition)): float(behind) for (source, partition), behind in lag.items()}
