"""The engine's program: plain PySpark that starts and stops queries as it is told, line by line.

Run by the orchestrator's side (``evertable.engine.process``) with commands on standard input, or by hand:
``spark-submit --master … --jars … child.py --commands FILE`` carries out the commands of a file (``open`` without a
master, then ``start``) and goes on until it is ended. The operator's jar must come first in ``--jars``.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from evertable.engine import plan
from evertable.engine.failures import classify
from evertable.engine.protocol import Event, Failed, Progress, Ready, Released, Started, Stopped, encode
from evertable.engine.session import create_session, slots_of
from evertable.engine.spec import GenerationSpec, from_wire

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WATCH_S = 0.2
RELEASE_S = 45.0  # longest wait for a producer to be closed; on a cluster it is in an executor and cannot be seen
EXIT_SPARK_DIED = 70


class Output:
    """Events, one a line, from any thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, event: Event) -> None:
        with self._lock:
            self._stream.write(encode(event))
            self._stream.flush()


class Queries:
    """The running queries of one Spark session."""

    def __init__(self, spark: SparkSession, output: Output) -> None:
        self._spark = spark
        self._output = output
        self._lock = threading.Lock()
        self._running: dict[int, tuple[GenerationSpec, StreamingQuery]] = {}
        self._epochs: dict[int, int] = {}
        self._releasing: dict[int, float] = {}

    def start(self, spec: GenerationSpec) -> None:
        if spec.generation in self._running:
            return  # told twice
        try:
            query = plan.start(self._spark, spec)
        except Exception as error:  # whatever Spark throws, the generation failed and the engine goes on
            self._fail(spec.generation, str(error))
            return
        with self._lock:
            self._running[spec.generation] = (spec, query)
        self._output.send(Started(spec.generation, str(query.id), str(query.runId)))

    def stop(self, generation: int) -> None:
        with self._lock:
            found = self._running.pop(generation, None)
            self._epochs.pop(generation, None)
        if found:
            found[1].stop()
        self._output.send(Stopped(generation))
        with self._lock:
            self._releasing[generation] = time.monotonic() + RELEASE_S

    def watch(self) -> None:
        """Looks at every query once and reports what is new."""
        with self._lock:
            running = list(self._running.values())
            releasing = dict(self._releasing)
        for spec, query in running:
            self._report_progress(spec, query)
            if not query.isActive and self._forget(spec.generation):
                self._fail(spec.generation, str(query.exception() or "the query ended without an error"))
        for generation, deadline in releasing.items():
            if not self._producer_open(generation) or time.monotonic() > deadline:
                with self._lock:
                    del self._releasing[generation]
                self._output.send(Released(generation))

    def stop_all(self) -> None:
        for spec, query in list(self._running.values()):
            self._forget(spec.generation)
            query.stop()

    def _forget(self, generation: int) -> bool:
        with self._lock:
            return self._running.pop(generation, None) is not None

    def _fail(self, generation: int, text: str) -> None:
        failure = classify(text)
        self._output.send(Failed(generation, failure.condition, failure.message, failure.retriable))

    def _report_progress(self, spec: GenerationSpec, query: StreamingQuery) -> None:
        last = query.lastProgress
        if last is None or self._epochs.get(spec.generation) == last["batchId"]:
            return
        self._epochs[spec.generation] = last["batchId"]
        ends = [_ends(source) for source in last["sources"]]
        by_topic: dict[str, dict[int, int]] = {topic: offsets for end in ends for topic, offsets in end.items()}
        left, right = by_topic.get(spec.left.topic, {}), by_topic.get(spec.right.topic, {})
        self._output.send(Progress(spec.generation, last["batchId"], last["numInputRows"], left, right))

    def _producer_open(self, generation: int) -> bool:
        jvm: Any = self._spark.sparkContext._jvm
        return bool(jvm.dev.evertable.Producers.open(plan.producer_id(generation)))


def _ends(source: Any) -> dict[str, dict[int, int]]:
    offsets = source["endOffset"]
    parsed = orjson.loads(offsets) if isinstance(offsets, str) else offsets
    return {topic: {int(p): int(o) for p, o in partitions.items()} for topic, partitions in (parsed or {}).items()}


def serve(commands: Iterator[bytes], output: Output) -> None:
    """Carries out the commands until there are no more."""
    opening = orjson.loads(next(commands))
    jars = [Path(jar) for jar in opening.get("jars", ())]
    spark = create_session(opening.get("master"), jars, opening.get("spark", {}))
    spark.sparkContext.setLogLevel(opening.get("log_level", "WARN"))
    queries = Queries(spark, output)
    watcher = threading.Thread(target=_watch, args=(queries,), name="watch-queries", daemon=True)
    watcher.start()
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    output.send(Ready(spark.version, slots_of(str(spark.sparkContext.master))[1], partitions))
    for line in commands:
        wanted = orjson.loads(line)
        if wanted["do"] == "start":
            queries.start(from_wire(wanted["spec"]))
        elif wanted["do"] == "stop":
            queries.stop(wanted["generation"])
    queries.stop_all()
    spark.stop()


def _watch(queries: Queries) -> None:
    while True:
        try:
            queries.watch()
        except Exception:  # the JVM is gone, and nothing here can be saved
            sys.stderr.write(f"engine: Spark does not answer, ending\n{traceback.format_exc(limit=-3)}")
            os._exit(EXIT_SPARK_DIED)
        time.sleep(WATCH_S)


def _lines(path: Path | None) -> Iterator[bytes]:
    if path is None:
        yield from iter(sys.stdin.buffer.readline, b"")
        return
    yield from path.read_bytes().splitlines()
    threading.Event().wait()  # until the process is ended


def main() -> None:
    parser = argparse.ArgumentParser(description="Evertable's engine: runs generations as Spark queries.")
    parser.add_argument("--commands", type=Path, help="read commands from this file instead of standard input")
    path = parser.parse_args().commands
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Spark and its libraries print is no event
    serve(_lines(path), Output(events))


if __name__ == "__main__":
    main()
