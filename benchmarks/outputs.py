"""Joins into a topic: Evertable's changelog, Pathway and Flink: ``python -m benchmarks.outputs``.

An inner join, as others retract rows, which an append-only topic cannot hold. Each turn is a fresh process. Evertable
and Flink join the topics twice before, to warm up their JVMs; Pathway has none. Rows/s are counted from the first to
the last record of the output.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import orjson
from benchmarks import machine, topics
from benchmarks.engine import Bench, latencies
from benchmarks.figures import note
from benchmarks.peers.evertable import KEYS
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from evertable.broker import EmbeddedBroker
from evertable.changelog.reader import ChangelogReader
from evertable.config import JoinType
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.install.ivy import Coordinate, retrieve

HERE = Path(__file__).parent / "peers"
VENVS = HERE.parents[1] / ".venv-peers"
CONNECTOR = Coordinate("org.apache.flink", "flink-sql-connector-kafka", "4.0.1-2.0")
SILENCE_S = 20.0
RATE = 20
WARM_UPS = 2


def evertable(bootstrap: str, pair: tuple[str, str], messages: int) -> None:
    config = topics.config(bootstrap, *pair, JoinType.INNER)
    with tempfile.TemporaryDirectory() as name, Engine(EngineSettings(log=Path(name) / "log")) as engine:
        bench = Bench(bootstrap, engine, Path(name))
        for number in range(WARM_UPS):
            before = bench.run(config)
            rate, cores = before.rows / (before.seconds - before.first_s), before.engine_cpu_s / before.seconds
            record("Evertable", f"rows/s, run {number + 1}", rate, cores, engine.pid)

        def sample(reader: ChangelogReader) -> None:
            spent = machine.Spent(engine.pid or 0)
            ages = latencies(reader, bootstrap, pair[1], KEYS, messages, RATE)
            record("Evertable", "latency ms", ages, spent.cores, engine.pid)

        done = bench.run(config, sample)
        rate, cores = done.rows / (done.seconds - done.first_s), done.engine_cpu_s / done.seconds
        record("Evertable", "rows/s", rate, cores, engine.pid)


def peer(name: str, bootstrap: str, pair: tuple[str, str], accounts: int, messages: int, *more: str) -> None:
    output = f"out-{name.lower()}-{time.time_ns()}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in (output, f"{output}-before")]).values():
        made.result()
    with reading(bootstrap, output) as consumer, tempfile.TemporaryFile() as log:
        python = VENVS / name.lower() / "bin" / "python"
        command = [str(python), "-P", str(HERE / f"in_{name.lower()}.py"), bootstrap, *pair, output, *more]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            seen, first, spent = 0, 0.0, machine.Spent(process.pid)
            while seen < accounts:
                values = received(consumer)
                if values and not first:
                    first, spent = time.perf_counter(), machine.Spent(process.pid)
                seen += len(values)
                if not values and process.poll() is not None:
                    log.seek(0)
                    raise SystemExit(f"{name} ended: {log.read()[-2000:].decode()}")
            took = time.perf_counter() - first
            record(name, "rows/s", (accounts + accounts // 10) / took, spent.cores, process.pid)
            spent = machine.Spent(process.pid)
            ages = list[float]()
            with topics.sending(bootstrap, pair[1], KEYS, messages, RATE):
                while len(ages) < messages and (values := received(consumer, SILENCE_S)):
                    now = time.time_ns()
                    ages += [(now - orjson.loads(value)["sentAt"]) / 1e6 for value in values]
            record(name, "latency ms", ages, spent.cores, process.pid)
        finally:
            for pid in (*machine.descendants(process.pid), process.pid):
                subprocess.run(["kill", "-9", str(pid)], check=False)
            process.wait()


def record(system: str, measure: str, value: float | list[float], cores: float, pid: int | None) -> None:
    memory = machine.tree_memory_mb(pid or 0)
    note(system, f"output: {measure}", value, cores=cores, memory_mb=memory)
    shown = " / ".join(
        f"{part:,.1f}" for part in (np.percentile(value, [50, 95, 99]) if isinstance(value, list) else [value])
    )
    print(f"{system:10} {measure:10} {shown}, {cores:.2f} cores, {memory:,.0f} MB", flush=True)


@contextmanager
def reading(bootstrap: str, topic: str) -> Iterator[Consumer]:
    settings = {"fetch.queue.backoff.ms": 5, "queued.min.messages": 100_000, "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "outputs", **settings})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        yield consumer
    finally:
        consumer.close()


def received(consumer: Consumer, timeout_s: float = 1.0) -> list[bytes]:
    """Returns available messages, or waits for the first one."""
    first = consumer.poll(timeout_s)
    messages = [] if first is None else [first, *consumer.consume(10_000, 0)]
    return [message.value() or b"" for message in messages if message.error() is None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--accounts", type=int, default=1_000_000, help="and a tenth as many users")
    parser.add_argument("--messages", type=int, default=640, help=f"{RATE} a second, for more than an epoch")
    wanted = parser.parse_args()
    print(machine.description(), end="\n\n")
    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker() as broker:
        connector = retrieve([CONNECTOR], Path(folder))[CONNECTOR]
        for number in range(wanted.rounds):
            for name in ("Evertable", "Pathway", "Flink"):  # each on its own topics, as latency records add to them
                pair = topics.spread(broker.bootstrap, wanted.accounts // 10, wanted.accounts, f"{name}-{number}")
                if name == "Evertable":
                    evertable(broker.bootstrap, pair, wanted.messages)
                else:
                    more = [str(connector), str(WARM_UPS)] if name == "Flink" else []
                    peer(name, broker.bootstrap, pair, wanted.accounts, wanted.messages, *more)


if __name__ == "__main__":
    main()
