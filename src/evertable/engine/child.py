"""The engine's child process: a PySpark program that starts and stops queries on command, one command a line.

``evertable.engine.process`` runs it with commands on standard input. By hand,
``spark-submit --master … --jars … child.py --commands FILE`` executes the commands of a file (``open`` without a
master, then ``start``) and runs until it is killed. The operator's jar must come first in ``--jars``.
"""

from __future__ import annotations

import argparse
import gc
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import orjson

from evertable.engine import plan, scratch, spark_internals
from evertable.engine.committed import committed_ends
from evertable.engine.failures import PLAN, classify
from evertable.engine.protocol import (
    EngineEvent,
    EpochCommitted,
    Failed,
    Ready,
    Released,
    Started,
    Stopped,
    TaskSlots,
    encode,
)
from evertable.engine.session import RELEASE_S, create_session, is_cluster
from evertable.engine.spec import GenerationSpec, from_wire

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WATCH_S = 0.2
STDIN = 0
CLOSE_S = 5.0  # for queries and Spark to stop at the end of the input; a start-up is not waited for
EXIT_FAILED = 1
EXIT_SPARK_DIED = 70
EXIT_NOT_CLOSED = 71


class Output:
    """Writes events, one a line, from any thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, event: EngineEvent) -> None:
        with self._lock, suppress(BrokenPipeError):  # the owner is gone; the end of the input stops us
            self._stream.write(encode(event))
            self._stream.flush()


class Queries:
    """The running queries of one Spark session."""

    def __init__(self, spark: SparkSession, output: Output) -> None:
        self._spark = spark
        self._output = output
        self._lock = threading.Lock()
        self._running: dict[int, tuple[GenerationSpec, StreamingQuery]] = {}
        self._reported: dict[int, EpochCommitted] = {}
        self._releasing: dict[int, float] = {}
        self._on_cluster = is_cluster(str(spark.sparkContext.master))
        self._slots = spark_internals.task_slots(spark)

    @property
    def slots(self) -> int:
        """The number of task slots, as last reported."""
        return self._slots

    def start(self, spec: GenerationSpec) -> None:
        if spec.generation in self._running:
            return  # a repeated command
        with self._lock:
            self._releasing.pop(spec.generation, None)  # the new run uses the same producer
        try:
            query = plan.start(self._spark, spec)
        except Exception as error:  # whatever Spark raises, only this generation fails
            self._fail(spec, str(error))
            return
        with self._lock:
            self._running[spec.generation] = (spec, query)
        self._output.send(Started(spec.generation, str(query.id), str(query.runId)))

    def stop(self, generation: int) -> None:
        """Ends a query, on a thread of its own: it takes long if the query's Kafka does not answer."""
        if found := self._forget(generation):
            found[1].stop()
        with self._lock:  # a start that answers this event must find the entry
            self._output.send(Stopped(generation))
            self._releasing[generation] = time.monotonic() + RELEASE_S

    def watch(self) -> None:
        """Checks the executors and every query once, and reports changes."""
        if self._on_cluster and (slots := spark_internals.task_slots(self._spark)) != self._slots:
            self._slots = slots
            self._output.send(TaskSlots(slots))
        with self._lock:
            running = list(self._running.values())
            releasing = dict(self._releasing)
        for spec, query in running:
            self._report_progress(spec, query)
            if not query.isActive and self._forget(spec.generation):
                self._fail(spec, failure_text(query))
        for generation, deadline in releasing.items():
            if self._is_released(generation, deadline):
                with self._lock:
                    self._releasing.pop(generation, None)  # it may have been restarted just now
                self._output.send(Released(generation))
                gc.collect()  # py4j objects form cycles, and the JVM keeps the whole query until they are collected

    def stop_all(self) -> None:
        for generation in list(self._running):
            if found := self._forget(generation):
                found[1].stop()

    def _forget(self, generation: int) -> tuple[GenerationSpec, StreamingQuery] | None:
        with self._lock:
            self._reported.pop(generation, None)
            return self._running.pop(generation, None)

    def _fail(self, spec: GenerationSpec, text: str) -> None:
        names = (spec.left.topic, spec.right.topic, spec.changelog_topic)
        failure = classify(text, names)
        message = failure.message
        if failure.condition == "NOT_AUTHORIZED":
            rights = {spec.left.topic: "Read", spec.right.topic: "Read", spec.changelog_topic: "Write"}
            denied = [name for name in rights if name in message] or rights  # Kafka does not always name the topic
            missing = " and ".join(f"{rights[name]} on '{name}'" for name in denied)
            message += f" Give its user the right {missing}."
        if not any(name in message for name in names):
            message += f" [{spec.left.topic}, {spec.right.topic} into {spec.changelog_topic}]"
        self._output.send(Failed(spec.generation, failure.condition, message, failure.retriable))

    def _report_progress(self, spec: GenerationSpec, query: StreamingQuery) -> None:
        last = query.lastProgress
        if last is None:
            return
        left, right = committed_ends(last["sources"][0]["endOffset"])
        progress = EpochCommitted(spec.generation, last["batchId"], left, right)
        if self._reported.get(spec.generation) != progress:
            self._reported[spec.generation] = progress
            self._output.send(progress)

    def _is_released(self, generation: int, deadline: float) -> bool:
        """Closes an ended query's clients and returns whether all are closed; on a cluster, executors do so later."""
        if self._on_cluster:
            return time.monotonic() > deadline
        return spark_internals.release(self._spark, plan.query_name(generation))


def serve(commands: Iterator[bytes], output: Output, folder: Path | None) -> None:
    """Executes commands until the input ends; ``folder`` is the scratch folder, if one was given."""
    opening = orjson.loads(next(commands))
    jars = [Path(jar) for jar in opening.get("jars", ())]
    spark = create_session(opening.get("master"), jars, opening.get("spark", {}))
    spark.sparkContext.setLogLevel(opening.get("log_level", "WARN"))
    queries = Queries(spark, output)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    output.send(Ready(spark.version, queries.slots, partitions))
    threading.Thread(target=_watch, args=(queries, folder), name="watch-queries", daemon=True).start()
    for line in commands:
        command = orjson.loads(line)
        if command["do"] == "start":
            queries.start(from_wire(command["spec"]))
        elif command["do"] == "stop":
            threading.Thread(target=queries.stop, args=(command["generation"],), daemon=True).start()
    queries.stop_all()
    jvm = spark_internals.jvm_process(spark)
    spark.stop()
    if jvm and jvm.stdin:
        jvm.stdin.close()
        jvm.wait(CLOSE_S)  # when this process ends, Spark's files must no longer be in use


def _watch(queries: Queries, folder: Path | None) -> None:
    connection_errors = spark_internals.connection_errors()
    while True:
        try:
            queries.watch()
        except connection_errors:  # the JVM is gone, and nothing can be saved
            sys.stderr.write("engine: Error: Spark's JVM does not respond; exiting\n")
            _exit(EXIT_SPARK_DIED, folder)
        except Exception:  # a bug, or an error of one query: the others continue
            sys.stderr.write(f"engine: {traceback.format_exc()}")
        time.sleep(WATCH_S)


def failure_text(query: StreamingQuery) -> str:
    """Returns a query's error and its causes; the error alone often does not name the reason."""
    if (error := query.exception()) is None:
        return "the query ended without an error"
    causes = (f"Caused by: {cause}" for cause in spark_internals.causes(query))
    return "\n".join([str(error).partition(PLAN)[0], *causes])


def _read_ahead(lines: queue.SimpleQueue[bytes], folder: Path | None) -> None:
    """Reads commands into ``lines`` and notices the end of the input at once, even while Spark starts."""
    rest = b""
    while chunk := os.read(STDIN, 1 << 16):  # not sys.stdin: Python needs its lock to exit
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            lines.put(line)
    lines.put(b"")
    threading.Event().wait(CLOSE_S)
    _exit(EXIT_NOT_CLOSED, folder)


def _exit(code: int, folder: Path | None) -> NoReturn:
    """Exits at once, from any thread; another process ends what is left of Spark."""
    if folder:
        scratch.remove_from_outside(folder)
    os._exit(code)


def _lines(path: Path | None, folder: Path | None) -> Iterator[bytes]:
    if path is None:
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=_read_ahead, args=(lines, folder), daemon=True).start()
        yield from iter(lines.get, b"")
        return
    yield from path.read_bytes().splitlines()
    threading.Event().wait()  # until the process is killed


def main() -> None:
    parser = argparse.ArgumentParser(description="Evertable's engine: runs generations as Spark queries.")
    parser.add_argument("--commands", type=Path, help="read commands from this file instead of standard input")
    parser.add_argument("--scratch", type=Path, help="a folder for temporary files, removed at the end")
    options = parser.parse_args()
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Spark and its libraries print must not mix with events
    try:
        serve(_lines(options.commands, options.scratch), Output(events), options.scratch)
    except Exception:
        traceback.print_exc()
        _exit(EXIT_FAILED, options.scratch)
    if options.scratch:
        scratch.remove(options.scratch)  # the owner removes it too, unless it was killed


if __name__ == "__main__":
    main()
