"""The engine's program: plain PySpark that starts and stops queries as it is told, line by line.

Run by the orchestrator's side (``evertable.engine.process``) with commands on standard input, or by hand:
``spark-submit --master … --jars … child.py --commands FILE`` carries out the commands of a file (``open`` without a
master, then ``start``) and goes on until it is ended. The operator's jar must come first in ``--jars``.
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
from evertable.engine.session import create_session, is_cluster, release_s
from evertable.engine.spec import GenerationSpec, from_wire

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WATCH_S = 0.2
STDIN = 0
CLOSE_S = 5.0  # for queries and Spark to stop once there is no more input; a start-up is not waited for
EXIT_FAILED = 1
EXIT_SPARK_DIED = 70
EXIT_NOT_CLOSED = 71


class Output:
    """Events, one a line, from any thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, event: EngineEvent) -> None:
        with self._lock, suppress(BrokenPipeError):  # nobody listens any more: the input ends, and so shall we
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
        self._release_s = release_s(spark)
        self._slots = spark_internals.task_slots(spark)

    @property
    def slots(self) -> int:
        """Task slots there are, as last reported."""
        return self._slots

    def start(self, spec: GenerationSpec) -> None:
        if spec.generation in self._running:
            return  # told twice
        with self._lock:
            self._releasing.pop(spec.generation, None)  # the producer of the run before is this one's, too
        try:
            query = plan.start(self._spark, spec)
        except Exception as error:  # whatever Spark throws, the generation failed and the engine goes on
            self._fail(spec, str(error))
            return
        with self._lock:
            self._running[spec.generation] = (spec, query)
        self._output.send(Started(spec.generation, str(query.id), str(query.runId)))

    def stop(self, generation: int) -> None:
        """Ends a query; takes long if its Kafka does not answer, so it is called on a thread of its own."""
        if found := self._forget(generation):
            found[1].stop()
        with self._lock:  # or a start that is sent in answer would come before the entry is made
            self._output.send(Stopped(generation))
            self._releasing[generation] = time.monotonic() + self._release_s

    def watch(self) -> None:
        """Looks at the executors and at every query once, and reports what is new."""
        if self._on_cluster and (slots := spark_internals.task_slots(self._spark)) != self._slots:
            self._slots = slots
            self._output.send(TaskSlots(slots))
        with self._lock:
            running = list(self._running.values())
            releasing = dict(self._releasing)
        for spec, query in running:
            self._report_progress(spec, query)
            if not query.isActive and self._forget(spec.generation):
                self._fail(spec, why_ended(query))
        for generation, deadline in releasing.items():
            if self._is_released(generation, deadline):
                with self._lock:
                    self._releasing.pop(generation, None)  # it may have been started again just now
                self._output.send(Released(generation))
                gc.collect()  # py4j's objects refer to themselves; until they go, the JVM keeps the whole query

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
            told = [name for name in rights if name in message] or rights  # Kafka does not always say which
            missing = " and ".join(f"{rights[name]} on '{name}'" for name in told)
            message += f" Give its user the right {missing}."
        if not any(name in message for name in names):
            message += f" [{spec.left.topic}, {spec.right.topic} into {spec.changelog_topic}]"
        self._output.send(Failed(spec.generation, failure.condition, message, failure.retriable))

    def _report_progress(self, spec: GenerationSpec, query: StreamingQuery) -> None:
        last = query.lastProgress
        if last is None:
            return
        left, right = committed_ends(spec, (source["endOffset"] for source in last["sources"]))
        progress = EpochCommitted(spec.generation, last["batchId"], left, right)
        if self._reported.get(spec.generation) != progress:
            self._reported[spec.generation] = progress
            self._output.send(progress)

    def _is_released(self, generation: int, deadline: float) -> bool:
        """Closes an ended query's producer and returns whether it is closed; on a cluster, Spark does so in time."""
        if self._on_cluster:
            return time.monotonic() > deadline
        return spark_internals.close_producer(self._spark, plan.producer_id(generation))


def serve(commands: Iterator[bytes], output: Output, folder: Path | None) -> None:
    """Carries out the commands until there are no more; ``folder`` is the scratch folder, if one was given."""
    opening = orjson.loads(next(commands))
    jars = [Path(jar) for jar in opening.get("jars", ())]
    spark = create_session(opening.get("master"), jars, opening.get("spark", {}))
    spark.sparkContext.setLogLevel(opening.get("log_level", "WARN"))
    queries = Queries(spark, output)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    output.send(Ready(spark.version, queries.slots, partitions))
    threading.Thread(target=_watch, args=(queries, folder), name="watch-queries", daemon=True).start()
    for line in commands:
        wanted = orjson.loads(line)
        if wanted["do"] == "start":
            queries.start(from_wire(wanted["spec"]))
        elif wanted["do"] == "stop":
            threading.Thread(target=queries.stop, args=(wanted["generation"],), daemon=True).start()
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
        except connection_errors:  # the JVM is gone, and nothing here can be saved
            sys.stderr.write("engine: Error: Spark's JVM does not answer, ending\n")
            _leave(EXIT_SPARK_DIED, folder)
        except Exception:  # a fault of ours, or of one query's: the others go on
            sys.stderr.write(f"engine: {traceback.format_exc()}")
        time.sleep(WATCH_S)


def why_ended(query: StreamingQuery) -> str:
    """A query's error, then what caused it: the error alone may say no more than what could not be made."""
    if (error := query.exception()) is None:
        return "the query ended without an error"
    causes = (f"Caused by: {cause}" for cause in spark_internals.causes(query))
    return "\n".join([str(error).partition(PLAN)[0], *causes])


def _read_ahead(lines: queue.SimpleQueue[bytes], folder: Path | None) -> None:
    """Notices the end of the input at once, also while Spark starts: nobody is there to use it then."""
    rest = b""
    while chunk := os.read(STDIN, 1 << 16):  # not sys.stdin, whose lock Python wants when it ends
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            lines.put(line)
    lines.put(b"")
    threading.Event().wait(CLOSE_S)
    _leave(EXIT_NOT_CLOSED, folder)


def _leave(code: int, folder: Path | None) -> NoReturn:
    """Ends this process at once, from any thread, and leaves it to another one to end what is left of Spark."""
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
    threading.Event().wait()  # until the process is ended


def main() -> None:
    parser = argparse.ArgumentParser(description="Evertable's engine: runs generations as Spark queries.")
    parser.add_argument("--commands", type=Path, help="read commands from this file instead of standard input")
    parser.add_argument("--scratch", type=Path, help="a folder for temporary files, to be removed at the end")
    options = parser.parse_args()
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Spark and its libraries print is no event
    try:
        serve(_lines(options.commands, options.scratch), Output(events), options.scratch)
    except Exception:
        traceback.print_exc()
        _leave(EXIT_FAILED, options.scratch)
    if options.scratch:
        scratch.remove(options.scratch)  # the owner does so, too, unless it was killed


if __name__ == "__main__":
    main()
