"""``evertable follow``: one generation, its changes in the terminal."""

from __future__ import annotations

import queue
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape

from evertable.errors import EngineError, EvertableError, QueryFailedError

if TYPE_CHECKING:
    from evertable.changelog.caught_up import CaughtUp
    from evertable.changelog.changes import Changes
    from evertable.changelog.reader import ChangelogReader
    from evertable.changelog.topics import ChangelogTopics
    from evertable.config import Config
    from evertable.engine.process import Engine
    from evertable.engine.protocol import EngineEvent
    from evertable.generations.build import Build

POLL_S = 0.2
INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def follow(
    config_file: Path | None = typer.Argument(
        None, metavar="CONFIG", help="The configuration; evertable.yaml by default."
    ),
    everything: bool = typer.Option(False, "--all", help="Print what the topics held before the start, too."),
    once: bool = typer.Option(False, "--once", help="Stop when all that the topics held has been shown."),
) -> None:
    """Join the configured topics and print what comes, until Ctrl-C.

    Rows, matches and rejects, without a server. Nothing is kept: the changelog and the checkpoint are deleted at the
    end. After a crash of Spark's, rows since the last commit are printed again.

    Example:  evertable follow examples/evertable.yaml --all
    """
    from evertable.config import load
    from evertable.generations.build import changelog_topics

    config = load(config_file)
    console = Console(highlight=False, soft_wrap=True)
    for warning in config.warnings:
        console.print(f"[yellow]Note:[/] {escape(warning)}")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Kafka may take half a minute not to answer; nothing to clean up yet
    console.print(f"Asking Kafka at {config.changelog_kafka.for_librdkafka()['bootstrap.servers']} …")
    topics = changelog_topics(config)
    topics.list()
    stop = _stop_on_signals()
    folder = Path(tempfile.mkdtemp(prefix="evertable-"))
    keep_log = False
    try:
        finished = _follow(config, console, topics, folder, stop, everything=everything, once=once)
    except EngineError:
        keep_log = True  # the error points there
        raise
    finally:
        shutil.rmtree(folder / "checkpoint" if keep_log else folder, ignore_errors=True)
    if once and not finished:
        raise typer.Exit(INTERRUPTED)


def _follow(
    config: Config,
    console: Console,
    topics: ChangelogTopics,
    folder: Path,
    stop: threading.Event,
    *,
    everything: bool,
    once: bool,
) -> bool:
    """True if all that the topics held was shown."""
    from evertable.engine.launch import EngineSettings
    from evertable.engine.process import Engine

    events: queue.SimpleQueue[EngineEvent] = queue.SimpleQueue()
    log = folder / "spark.log"
    with ExitStack() as ends:
        built = _build_next(config, topics, str(folder / "checkpoint"))
        ends.callback(_delete, topics, built, console)  # after the engine has ended, and its producer with it
        engine = Engine(EngineSettings.of(config.engine, log), events.put)
        ends.callback(engine.close)
        if not _open(engine, console, stop):
            return False
        reader = ends.enter_context(built.reader(config))
        engine.start(built.spec)
        wiring = f"[b]{config.left.topic}[/], {config.join.type} join with [b]{config.right.topic}[/]"
        where = f"Changelog: {built.spec.changelog_topic}. Spark's log: {log}."
        console.print(f"Generation {built.spec.generation}: {wiring}. {where} Ctrl-C ends it.")
        caught_up = built.caught_up(lambda: engine.has_begun_again(built.spec.generation))
        following = _Following(config, console, reader, caught_up, events, log)
        following.catch_up(stop, everything=everything)
        while not (once or stop.is_set()):
            following.poll(show=True)
        return following.caught_up.done


def _stop_on_signals() -> threading.Event:
    """Set by the first Ctrl-C or SIGTERM; a second one ends the process at once, wherever it waits."""
    stop = threading.Event()

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    for number in _SIGNALS:
        signal.signal(number, ask_to_stop)
    return stop


def _build_next(config: Config, topics: ChangelogTopics, checkpoint: str) -> Build:
    """The next generation; another ``follow`` of the same app may take its number between looking and creating."""
    from evertable.generations.build import build
    from evertable.generations.identity import topic_ids
    from evertable.generations.suggestions import suggesting

    while True:
        generation = max(topics.list(), default=0) + 1
        try:
            with suggesting(config):
                topic_ids(config)  # names both topics if both are missing
                return build(config, generation, topics, checkpoint)
        except EvertableError:
            if generation not in topics.list():
                raise


def _open(engine: Engine, console: Console, stop: threading.Event) -> bool:
    """Starts Spark; false if told to stop before it is there."""
    with console.status("Starting Spark …"), ThreadPoolExecutor(1) as pool:
        opening = pool.submit(engine.open)
        while not wait([opening], POLL_S).done:
            if stop.is_set():
                engine.close(timeout_s=0)  # it cannot be asked before it is there
                return False
        opening.result()
    return True


def _delete(topics: ChangelogTopics, built: Build, console: Console) -> None:
    try:
        topics.delete(built.spec.generation)
    except EvertableError as error:
        console.print(f"[yellow]Note:[/] the topic {built.spec.changelog_topic} is left behind. {escape(str(error))}")


class _Following:
    """Reads the changelog, heeds the engine, prints."""

    def __init__(
        self,
        config: Config,
        console: Console,
        reader: ChangelogReader,
        caught_up: CaughtUp,
        events: queue.SimpleQueue[EngineEvent],
        log: Path,
    ) -> None:
        self.caught_up = caught_up
        self._config = config
        self._console = console
        self._reader = reader
        self._events = events
        self._log = log

    def catch_up(self, stop: threading.Event, *, everything: bool) -> None:
        """Polls until all that the topics held has been shown."""
        rows = matches = rejects = 0
        with self._console.status("Catching up …") as status:
            while not (self.caught_up.done or stop.is_set()):
                if changes := self.poll(show=everything):
                    rows += sum(batch.num_rows for batch in changes.rows)
                    matches += changes.pairs.num_rows
                    rejects += changes.rejects.num_rows
                    self.caught_up.saw(changes)
                self.caught_up.read_to(self._reader.positions)
                counts = f"{rows:,} rows, {matches:,} matches, {rejects:,} rejects"
                status.update(f"Catching up: {self.caught_up.progress.fraction:.0%}, {counts}")
        if self.caught_up.done:
            self._console.print(f"[green]Caught up:[/] {counts if rows or rejects else 'there was nothing yet'}.")

    def poll(self, *, show: bool) -> Changes | None:
        """What is new in the changelog, printed if wanted; raises if the query cannot go on."""
        while not self._events.empty():
            self._heed(self._events.get())
        changes = self._reader.poll(POLL_S)
        if changes and show:
            for line in _lines(self._config, changes):
                self._console.print(line)
        return changes

    def _heed(self, event: EngineEvent) -> None:
        from evertable.changelog.schema import Side
        from evertable.engine.protocol import Died, Failed, Progress

        match event:
            case Died(reason):
                self._note(f"Spark has died ({reason}) and is started again. Its log: {self._log}")
            case Failed(_, condition, message, retriable=True):
                self._note(f"The query has failed and is started again. {condition}: {message}")
            case Failed(_, condition, message):
                raise QueryFailedError(f"{condition}: {message}", f"Spark's log: {self._log}")
            case Progress() if not self.caught_up.done:
                sides = ((Side.LEFT, event.left), (Side.RIGHT, event.right))
                ends = {(side, partition): end for side, offsets in sides for partition, end in offsets.items()}
                self.caught_up.committed(ends, self._reader.end())

    def _note(self, text: str) -> None:
        self._console.print(f"[yellow]Note:[/] {escape(text)}")


def _lines(config: Config, changes: Changes) -> Iterator[str]:
    from evertable.changelog.ids import partition_and_offset
    from evertable.client.text import visible

    def plain(text: str) -> str:
        return escape(visible(text))

    def place(row: int) -> str:
        partition, offset = partition_and_offset(row)
        return f"{partition}@{offset}"

    names = (config.left.name, config.right.name)
    width = max(map(len, names))
    for name, batch in zip(names, changes.rows, strict=True):
        columns = batch.schema.names[2:]
        for row, _, *values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            cells = "  ".join(f"[dim]{plain(c)}[/] {plain(str(v))}" for c, v in zip(columns, values, strict=True))
            yield f"[cyan]{name:<{width}}[/] {place(row):>8}  {cells}"
    for pair in changes.pairs.to_pylist():
        yield f"[green]{'match':<{width}}[/] {names[0]} {place(pair['left'])} ↔ {names[1]} {place(pair['right'])}"
    for reject in changes.rejects.to_pylist():
        where = f"{names[reject['side']]} {reject['partition']}@{reject['offset']}"
        yield f"[red]{'reject':<{width}}[/] {where}  {plain(reject['reason'])}"
