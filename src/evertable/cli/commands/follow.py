"""``evertable follow``: one generation, its changes in the terminal."""

from __future__ import annotations

import queue
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from evertable.changelog.caught_up import CaughtUp
    from evertable.changelog.changes import Changes
    from evertable.changelog.reader import ChangelogReader
    from evertable.config import Config
    from evertable.engine.protocol import Event

POLL_S = 0.2


def follow(
    config_file: Path | None = typer.Argument(None, metavar="[CONFIG]", help="evertable.yaml, if not said."),
    everything: bool = typer.Option(False, "--all", help="Print what the topics held before the start, too."),
    once: bool = typer.Option(False, "--once", help="Stop when all that the topics held has been shown."),
) -> None:
    """Join the configured topics and print rows, matches and rejects as they come, until Ctrl-C.

    Nothing is kept: the changelog and the checkpoint are deleted at the end.

    Example:  evertable follow examples/evertable.yaml --all
    """
    from evertable.config import load

    config = load(config_file)
    console = Console(highlight=False, soft_wrap=True)
    for warning in config.warnings:
        console.print(f"[yellow]Note:[/] {escape(warning)}")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    folder = Path(tempfile.mkdtemp(prefix="evertable-"))
    try:
        _follow(config, console, folder, stop, everything=everything, once=once)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _follow(
    config: Config, console: Console, folder: Path, stop: threading.Event, *, everything: bool, once: bool
) -> None:
    from evertable.engine.process import Engine, EngineSettings
    from evertable.generations.build import build, changelog_topics

    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    settings = EngineSettings(config.engine.master, config.engine.spark.reveal(), folder / "spark.log")
    with ExitStack() as ends:
        topics = ends.enter_context(changelog_topics(config))
        generation = max(topics.list(), default=0) + 1
        built = build(config, generation, topics, str(folder / "checkpoint"))
        ends.callback(topics.delete, generation)  # after the engine has ended, and its producer with it
        with console.status("Starting Spark …"):
            engine = ends.enter_context(Engine(settings, events.put))
        reader = ends.enter_context(built.reader(config))
        engine.start(built.spec)
        wiring = f"[b]{config.left.topic}[/], {config.join.type} join with [b]{config.right.topic}[/]"
        console.print(f"Generation {generation}: {wiring}. Changelog: {built.spec.changelog_topic}. Ctrl-C ends it.")
        caught_up = built.caught_up()
        _catch_up(config, console, reader, caught_up, events, stop, everything=everything)
        while not (once or stop.is_set()):
            _take(events, reader, caught_up)
            if changes := reader.poll(POLL_S):
                _print(config, console, changes)


def _catch_up(
    config: Config,
    console: Console,
    reader: ChangelogReader,
    caught_up: CaughtUp,
    events: queue.SimpleQueue[Event],
    stop: threading.Event,
    *,
    everything: bool,
) -> None:
    rows = matches = rejects = 0
    with console.status("Catching up …") as status:
        while not (caught_up.done or stop.is_set()):
            _take(events, reader, caught_up)
            if changes := reader.poll(POLL_S):
                rows += sum(batch.num_rows for batch in changes.rows)
                matches += changes.pairs.num_rows
                rejects += changes.rejects.num_rows
                caught_up.saw(changes)
                if everything:
                    _print(config, console, changes)
            caught_up.read_to(reader.positions)
            counts = f"{rows:,} rows, {matches:,} matches, {rejects:,} rejects"
            status.update(f"Catching up: {caught_up.progress.fraction:.0%}, {counts}")
    if caught_up.done:
        console.print(f"[green]Caught up:[/] {counts if rows or rejects else 'the topics are empty'}.")


def _take(events: queue.SimpleQueue[Event], reader: ChangelogReader, caught_up: CaughtUp) -> None:
    """Heeds what the engine has said; raises if the query cannot go on."""
    from evertable.changelog.schema import Side
    from evertable.engine.protocol import Failed, Progress
    from evertable.errors import QueryFailedError

    while not events.empty():
        event = events.get()
        if isinstance(event, Failed) and not event.retriable:
            raise QueryFailedError(f"{event.condition}: {event.message}")
        if isinstance(event, Progress) and not caught_up.done:
            sides = ((Side.LEFT, event.left), (Side.RIGHT, event.right))
            ends = {(side, partition): end for side, offsets in sides for partition, end in offsets.items()}
            caught_up.committed(ends, reader.end())


def _print(config: Config, console: Console, changes: Changes) -> None:
    for line in _lines(config, changes):
        console.print(line)


def _lines(config: Config, changes: Changes) -> Iterator[str]:
    from evertable.changelog.ids import partition_and_offset

    def place(row: int) -> str:
        partition, offset = partition_and_offset(row)
        return f"{partition}@{offset}"

    names = (config.left.name, config.right.name)
    width = max(map(len, names))
    for name, batch in zip(names, changes.rows, strict=True):
        columns = batch.schema.names[2:]
        for row, _, *values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            cells = "  ".join(f"[dim]{c}[/] {escape(str(v))}" for c, v in zip(columns, values, strict=True))
            yield f"[cyan]{name:<{width}}[/] {place(row):>8}  {cells}"
    for pair in changes.pairs.to_pylist():
        yield f"[green]{'match':<{width}}[/] {names[0]} {place(pair['left'])} ↔ {names[1]} {place(pair['right'])}"
    for reject in changes.rejects.to_pylist():
        where = f"{names[reject['side']]} {reject['partition']}@{reject['offset']}"
        yield f"[red]{'reject':<{width}}[/] {where}  {escape(reject['reason'])}"
