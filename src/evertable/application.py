"""What ``evertable serve`` is made of, in one process: server, control, orchestrator, and Spark as its child.

Start reading here. ``Application`` makes every long-lived part and says in which order they start and stop::

    server (HTTP, WebSockets) ── live views ── catalog ── tables of the live generation
                                                                 ▲
    control topic ──► orchestrator ──► generations: query (Spark) ──► changelog ──► feed
                          │
                      state topic: what a restart needs, and the lock that one owner holds
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from evertable.background import run_in_background
from evertable.config import Config
from evertable.config.loading import state_dir
from evertable.control.listener import ControlListener
from evertable.control.messages import ControlMessage, keys_of
from evertable.control.topic import ControlTopic
from evertable.control.writer import Writer
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.engine.spec import local_path
from evertable.errors import FencedError
from evertable.generations.build import changelog_topics
from evertable.generations.checkpoint_folders import CheckpointFolder, folder_of
from evertable.generations.context import GenerationContext, GenerationCounters
from evertable.generations.control_reading import ControlReading
from evertable.generations.events import EventQueue, Message, Stop
from evertable.generations.orchestrator import Orchestrator, Ports
from evertable.generations.overview import CurrentOverview
from evertable.generations.requests import ControlRequests
from evertable.generations.retrying import Patience, StoppedError
from evertable.generations.running import RunningGeneration
from evertable.generations.startup import Startup
from evertable.generations.state_writer import StateWriter
from evertable.generations.status_tables import DEAD_LETTERS, StatusTables
from evertable.generations.suggestions import missing_topics, selectable_topics
from evertable.generations.sweeper import Sweeper
from evertable.generations.watch import TopicWatch
from evertable.kafka.admin import Admin
from evertable.kafka.topics import topic_id
from evertable.live.hub import Hub
from evertable.server.app import App
from evertable.server.metrics import Metrics
from evertable.server.run import serving
from evertable.shutdown import Shutdown
from evertable.state.state import AppState
from evertable.state.state_topic import StateTopic
from evertable.tables.catalog import Catalog, Notifier
from evertable.tables.table import Table

FLIP_S = 30.0
FIND_S = 3.0
"""A topic about which Kafka does not answer in time is assumed to exist."""
LEAVING_S = 1.0
SWEEP_S = 2.0
POLL_S = 0.1


class Application:
    """One app, from nothing to serving and back.

    ``folder`` holds checkpoints and logs where the configuration names none; ``on_up`` is called with the server's
    address.
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
        self._reset_wiring = reset_wiring
        self._take_over = take_over
        self._folder = folder or state_dir()
        self._on_up = on_up
        self._fenced: FencedError | None = None

        keys, changes = keys_of(config), Notifier()
        self._shutdown = Shutdown()
        self._events = EventQueue()
        self._watch = TopicWatch(self._events.put)
        self.overview = CurrentOverview(self._watch)
        self._status_tables = StatusTables(keys, changes.notify)
        self._patience = Patience(self._shutdown, self._status_tables.report)
        names = [config.table_of(config.left), config.table_of(config.right), config.joined_table, DEAD_LETTERS]
        self.catalog = Catalog(names, self._status_tables.tables, changes=changes)
        self._control = ControlTopic(config.kafka, config.control.topic) if config.control.enabled else None
        self._writer = Writer(self._control) if self._control else None
        self._requests = ControlRequests(keys, self._writer, self._events, self.overview)
        self._metrics = Metrics()
        self._counters = GenerationCounters(self._metrics.swapped)
        self._register_metrics()

    @property
    def ready(self) -> bool:
        """Whether every public name shows a table."""
        return self.catalog.ready

    def stop(self) -> None:
        """Lets ``run`` return soon; may be called by any thread or signal handler."""
        self._shutdown.begin()

    async def run(self) -> None:
        """Serves until ``stop`` is called, or raises why it cannot go on.

        The server comes first, so that people can watch how the rest starts.
        """
        app = App(
            self.catalog,
            self._config.server,
            self._metrics,
            control=self._requests.swap,
            rollback=self._requests.rollback,
            status=lambda: self.overview.flow,
            topics=partial(asyncio.to_thread, selectable_topics, self._config),
        )
        async with serving(app, self._config.server) as url:
            try:
                self._on_up(url)
                await asyncio.to_thread(self._own_the_app, app.hub, url)
            finally:
                if self._writer is not None:
                    self._writer.close()

    def _own_the_app(self, hub: Hub, url: str) -> None:
        """Claims the app, starts Spark, and drives generations until the shutdown; on a thread of its own."""
        config, shutdown = self._config, self._shutdown
        with ExitStack() as ends:
            self._status_tables.report("INFO", f"Starting, app {config.app}")
            log = self._folder / config.app / "spark.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            state_topic = StateTopic.of(config, shutdown, url)
            ends.callback(state_topic.close)  # last of all: a successor waits for it
            engine = Engine(EngineSettings.of(config.engine, log))
            opening = run_in_background(engine.open)
            ends.callback(lambda: engine.close(shutdown.left()))
            ends.callback(shutdown.begin)  # from here on, everything shares one deadline
            with suppress(StoppedError):
                claim = partial(state_topic.open, take_over=self._take_over)
                state = self._patience.until_kafka_answers(claim, opening)
                state_writer = StateWriter(state_topic, self._stop_fenced, shutdown)
                state_writer.start()  # before Spark is up, which takes longer than an owner may be silent
                ends.callback(state_writer.close)
                self._patience.until_done(opening)
                checkpoints = self._patience.until_kafka_answers(partial(self._checkpoints, state_topic.topic))
                context = GenerationContext(
                    config,
                    changelog_topics(config),
                    engine,
                    checkpoints,
                    self.catalog.notify,
                    self._counters,
                    self._events.put,
                    self._status_tables.report,
                )
                self._drive(context, state, state_topic, state_writer, hub, ends)
            if self._fenced is not None:
                raise self._fenced

    def _drive(
        self,
        context: GenerationContext,
        state: AppState,
        state_topic: StateTopic,
        state_writer: StateWriter,
        hub: Hub,
        ends: ExitStack,
    ) -> None:
        """Starts the orchestrator and what posts events to it, and waits for the shutdown."""
        config, shutdown, status_tables = self._config, self._shutdown, self._status_tables
        startup = Startup(context, state, state_topic, status_tables, self._patience, self._reset_wiring)
        startup.drop_other_sources()
        reading = ControlReading()
        if self._control and self._writer:
            reading = startup.read_control(self._control, self._writer)
        startup.show_history()
        life = startup.lifecycle()
        state_writer.write(*reading.offsets)  # at once: earlier versions wrote neither the topic's id nor its name
        sweeper = Sweeper(context.engine.wait_released, context.delete, status_tables.report)
        ports = Ports(
            events=self._events,
            overview=self.overview,
            status_tables=status_tables,
            state_writer=state_writer,
            watch=self._watch,
            sweep=sweeper.take,
            find_missing=lambda wiring: missing_topics(config.rewired(wiring), timeout_s=shutdown.left(FIND_S)),
            publish=partial(_flip, hub),
            new_generation=partial(RunningGeneration, context),
            shutdown=shutdown,
        )
        orchestrator = Orchestrator(context, life, ports, state)
        self.catalog.count_from(state.publication)
        context.engine.listen(self._events.put)
        first = startup.first_actions(life, reading, orchestrator)
        state_writer.write(*startup.close_history(life.generations))
        startup.clean_up(life.generations)

        sweeper.start()
        ends.callback(lambda: sweeper.close(shutdown.left(SWEEP_S)))
        ends.callback(lambda: context.engine.close(shutdown.left()))  # before: it closes all producers
        ends.callback(state_writer.close)
        self._watch.start()
        ends.callback(lambda: self._watch.close(shutdown.left()))
        orchestrator.start(first)
        ends.callback(orchestrator.stop)  # for when a step below fails
        listener = self._listen(reading)
        if listener is not None:
            ends.callback(lambda: listener.close(shutdown.left()))
        if self._writer is not None:
            self._writer.connect()
        while not shutdown.wait(POLL_S) and orchestrator.alive:
            pass

        shutdown.begin()
        closing = [state_topic.announce_leaving, self._watch.close, *([listener.close] if listener else [])]
        leaving = [run_in_background(close) for close in closing]  # at once: each may wait for Kafka
        orchestrator.stop()
        wait(leaving, shutdown.left(LEAVING_S))
        if orchestrator.failure is not None:
            sweeper.drop()
            raise orchestrator.failure

    def _listen(self, reading: ControlReading) -> ControlListener | None:
        """Starts to read the control topic behind what was read at the start."""
        if self._control is None:
            return None

        def post(record: ControlMessage, topic_id: str | None) -> None:
            self._events.put(Message(record, topic_id=topic_id))

        report = self._status_tables.report
        listener = ControlListener(self._control, reading.after, post, report, topic_id=reading.topic_id)
        listener.start()
        return listener

    def _checkpoints(self, state_topic: str) -> CheckpointFolder:
        """Returns the folder of the app's checkpoints, which an app of that name on another Kafka never shares."""
        root = self._config.engine.checkpoint_dir or str(self._folder / "checkpoints")
        admin = Admin(self._config.changelog_kafka.for_librdkafka())
        folder = folder_of(root, self._config.app, topic_id(admin, state_topic))
        if local_path(folder) is not None and "@" in folder.removeprefix(root):
            reason = f"'{root}/{self._config.app}' holds those of another app of that name"
            self._status_tables.report("INFO", f"Checkpoints are kept in '{folder}': {reason}")
        return CheckpointFolder(folder)

    def _stop_fenced(self, error: FencedError) -> None:
        """Stops because another server has taken over; called on the state writer's thread."""
        self._fenced = error
        self._events.put(Stop(error))
        self._shutdown.begin()

    def _register_metrics(self) -> None:
        counters, overview = self._counters, self.overview
        self._metrics.read("evertable_changes_folded_total", lambda: counters.folded)
        self._metrics.read("evertable_rejects_total", lambda: {(name,): n for name, n in counters.rejects.items()})
        self._metrics.read("evertable_lag_records", lambda: overview.lag)


def _flip(hub: Hub, generation: int, tables: Mapping[str, Table], also: Callable[[], None]) -> None:
    asyncio.run_coroutine_threadsafe(hub.publish(generation, tables, also), hub.loop).result(FLIP_S)
