"""Where the milliseconds go between a producer and a viewer: ``python -m benchmarks.anatomy [--messages 1300]``.

Each record carries the time it was sent. Each station notes when it had the record: the producer its acknowledgement,
a plain consumer of the source topic, Spark's write to the changelog (the timestamp of that record), the reader, the
fold, the server when it passed the frame to the socket, and the viewer. Producer and viewer are separate processes;
reader, fold and server share this one, as in ``evertable serve``.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks import machine, topics
from benchmarks.engine import Bench
from benchmarks.figures import note
from benchmarks.peers.evertable import KEYS, newest, stamps
from benchmarks.served import viewer
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.server_thread import ServerThread

from evertable.broker import EmbeddedBroker
from evertable.changelog.changes import Changes
from evertable.changelog.reader import ChangelogReader
from evertable.config import Config, JoinType
from evertable.config.server import Server as Settings
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.server.app import App
from evertable.server.socket import EXTENSION, FrameWriter
from evertable.tables.catalog import Catalog
from evertable.tables.generation import GenerationTables

RATE = 20
QUIET_S = 5.0

Times = dict[int, int]
"""When a station had a record, by the time the record was sent, in nanoseconds."""

HOPS = (
    ("producer and broker", "sent", "readable"),
    ("Spark", "readable", "written"),
    ("changelog", "written", "read"),
    ("fold", "read", "folded"),
    ("tick", "folded", "handed over"),
    ("socket", "handed over", "seen"),
)
TOTALS = (
    ("acknowledged to the producer", "sent", "acknowledged"),
    ("at the changelog reader", "sent", "read"),
    ("at the viewer", "sent", "seen"),
)


class StampedFrameWriter:
    """Notes when frames were passed to the socket."""

    def __init__(self, inner: FrameWriter, handed: Times) -> None:
        self._inner, self._handed = inner, handed

    async def drain(self) -> None:
        await self._inner.drain()

    async def write(self, start: bytes, rest: bytes = b"") -> None:
        await self._inner.write(start, rest)
        first_seen(self._handed, stamps(json.loads(start + rest)))


class Stamped:
    """An application whose sockets note what they send."""

    def __init__(self, app: ASGIApp, handed: Times) -> None:
        self._app, self._handed = app, handed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            extensions = scope["extensions"]
            extensions = {**extensions, EXTENSION: StampedFrameWriter(extensions[EXTENSION], self._handed)}
            scope = {**scope, "extensions": extensions}
        await self._app(scope, receive, send)


class StampedReader:
    """Reads with another reader, and returns when Spark wrote the records."""

    def __init__(self, reader: ChangelogReader) -> None:
        self._reader = reader
        self._written_ms = 0
        receive = reader._receive

        def stamped(timeout_s: float) -> list[Message]:
            messages = receive(timeout_s)
            self._written_ms = max((message.timestamp()[1] for message in messages), default=0)
            return messages

        reader._receive = stamped  # type: ignore[method-assign]

    def poll(self) -> tuple[Changes | None, int]:
        changes = self._reader.poll(0.2)
        return changes, self._written_ms * 1_000_000


def first_seen(times: Times, sent: Iterable[int]) -> None:
    now = time.time_ns()
    for stamp in sent:
        times.setdefault(stamp, now)


def anatomy(bench: Bench, config: Config, messages: int) -> None:
    """Folds a generation until it is caught up, then follows records through it and prints a table."""
    catalog = Catalog(["final_ui"])
    tables = GenerationTables(config.left, config.right, config.join.type, catalog.notify)
    catalog.publish(1, {"final_ui": tables.joined})

    def sample(reader: ChangelogReader) -> None:
        table(config.join.type.value, follow(reader, bench.bootstrap, config, tables, catalog, messages))

    bench.run(config, sample, tables.fold)


def follow(
    reader: ChangelogReader, bootstrap: str, config: Config, tables: GenerationTables, catalog: Catalog, messages: int
) -> dict[str, Times]:
    """Returns the times of all records at all stations."""
    hops: dict[str, Times] = {name: {} for name in ("written", "read", "folded", "handed over")}
    settings = Settings(port=0)
    app = App(catalog, settings)
    begin = time.time_ns()
    stamped = StampedReader(reader)
    with ServerThread(Stamped(app, hops["handed over"]), settings) as server:
        watching = _start("viewer", server.url, config.join.type.value, messages)
        _line(watching)
        sending = _start("sender", bootstrap, config.right.topic, messages)
        while len(hops["read"]) < messages:
            changes, written = stamped.poll()
            if changes is None:
                if sending.poll() is not None and time.time_ns() - max(hops["read"], default=begin) > QUIET_S * 1e9:
                    break
                continue
            sent = [at for at in changes.rows[1].column("sentAt").to_pylist() if at >= begin]
            hops["written"].update(dict.fromkeys(sent, written))
            first_seen(hops["read"], sent)
            tables.fold(changes)
            first_seen(hops["folded"], sent)
        hops["seen"] = _times(watching)
        hops["acknowledged"], hops["readable"] = _times(sending), _times(sending)
        for process in (watching, sending):
            process.wait()
    hops["sent"] = {stamp: stamp for stamp in hops["read"]}
    return hops


def table(join: str, hops: Mapping[str, Times]) -> None:
    print(f"\n{join}: {len(hops['seen']):,} records\n\n| hop | median ms | 95 % | 99 % |\n|---|---|---|---|")
    for name, start, end in (*HOPS, *TOTALS):
        sent = hops[start].keys() & hops[end].keys()
        found = [max(0, hops[end][stamp] - hops[start][stamp]) / 1e6 for stamp in sent]
        note("Evertable", f"hop: {name}", found, join=join)
        parts = " | ".join(f"{part:.1f}" for part in np.percentile(found, [50, 95, 99]))
        print(f"| {name} | {parts} |", flush=True)


def send(bootstrap: str, topic: str, messages: str) -> None:
    """Sends and consumes records, and prints when they were acknowledged and when they were readable."""
    acknowledged: Times = {}
    readable: Times = {}
    done = threading.Event()
    reading = threading.Thread(target=_consume, args=(bootstrap, topic, readable, done))
    reading.start()
    producer = topics.immediate_producer(bootstrap, topic)
    begin = time.perf_counter()
    for i in range(int(messages)):
        while time.perf_counter() < begin + i / RATE:  # poll() returns for each acknowledgement
            producer.poll(max(0.0, begin + i / RATE - time.perf_counter()))
        at = time.time_ns()
        value = topics.account(f"u{i * 7919 % KEYS}", i, at)
        producer.produce(topic, value, on_delivery=partial(_acknowledge, acknowledged, at))
    producer.flush()
    done.set()
    reading.join()
    print(json.dumps(acknowledged))
    print(json.dumps(readable))


def _acknowledge(acknowledged: Times, at: int, error: KafkaError | None, _: Message) -> None:
    if error is None:
        first_seen(acknowledged, [at])


def _consume(bootstrap: str, topic: str, readable: Times, done: threading.Event) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "anatomy", "enable.auto.commit": False})
    end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1]
    consumer.assign([TopicPartition(topic, 0, end)])
    while not done.is_set():
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            first_seen(readable, [json.loads(message.value() or b"{}").get("sentAt", 0)])
    consumer.close()


def watch(url: str, join: str, messages: str) -> None:
    """Watches; prints a line after the first page, and at the end the time of each record."""
    seen: Times = {}
    begin = time.time_ns()
    with viewer(url, **newest(join)) as socket:
        while json.loads(socket.recv())["type"] != "page":
            pass
        print("ready", flush=True)
        while len(seen) < int(messages):
            try:
                frame = json.loads(socket.recv(QUIET_S * 2))
            except TimeoutError:
                break
            first_seen(seen, [stamp for stamp in stamps(frame) if stamp >= begin])
    print(json.dumps(seen))


def _start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.anatomy", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _line(process: subprocess.Popen[str]) -> str:
    return (process.stdout and process.stdout.readline()) or ""


def _times(process: subprocess.Popen[str]) -> Times:
    return {int(sent): had for sent, had in json.loads(_line(process)).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accounts", type=int, default=1_000_000, help="and a tenth as many users")
    parser.add_argument("--messages", type=int, default=1_300, help=f"for each join, {RATE} a second")
    parser.add_argument("--joins", nargs="+", type=JoinType.parse, default=list(JoinType))
    wanted = parser.parse_args()
    gc.freeze()  # as `serve` does
    print(machine.description())
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker() as broker:
        folder = Path(name)
        with Engine(EngineSettings(log=folder / "spark.log")) as engine:
            bench = Bench(broker.bootstrap, engine, folder)
            users, accounts = topics.spread(broker.bootstrap, wanted.accounts // 10, wanted.accounts)
            for join in wanted.joins:
                anatomy(bench, topics.config(broker.bootstrap, users, accounts, join), wanted.messages)


if __name__ == "__main__":
    parts = {"sender": send, "viewer": watch}
    parts[sys.argv[1]](*sys.argv[2:]) if sys.argv[1:2] and sys.argv[1] in parts else main()
