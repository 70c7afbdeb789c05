"""Many partitions, and keys with too many matches: ``python -m benchmarks.partitions [--minutes 10]``.

- *Partitions*: for 1 and 64 partitions a topic, swaps between two pairs of topics, then the cores, threads and open
  files of server and Spark while nothing happens, at the beginning and at the end of the time.
- *Quarantine*: keys with 500 × 5,000 and 3,000 × 20,000 rows are sent into a live inner join, while pages of it are
  requested again and again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import machine, topics
from benchmarks.figures import note
from benchmarks.served import Served
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from evertable.broker import EmbeddedBroker
from evertable.schema.joins import JoinType

ROWS = 10_000
SWAPS = 3
HOT = ((500, 5_000), (3_000, 20_000))
SETTLE_S = 20.0
PAGES = {"sort": "-balance", "limit": "50"}


def fill(bootstrap: str, topic: str, partitions: int, values: Iterable[bytes]) -> str:
    """Creates a topic and spreads these records over its partitions."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
    send(bootstrap, topic, partitions, values)
    return topic


def send(bootstrap: str, topic: str, partitions: int, values: Iterable[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 1_000_000, "linger.ms": 5})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % partitions)
        producer.poll(0)
    producer.flush()


@contextmanager
def serving(bootstrap: str, pair: tuple[str, str], join: str) -> Iterator[Served]:
    config = topics.config(bootstrap, *pair, JoinType(join))
    settings: dict[str, Any] = {
        "app": f"bench-{pair[0]}",
        "kafka": {"bootstrap.servers": bootstrap},
        "sources": {
            source.name: {
                "topic": source.topic,
                "key": source.key,
                "columns": {column.name: str(column.type) for column in source.columns},
            }
            for source in (config.left, config.right)
        },
        "join": {"type": join},
        "swap": {"linger_s": 0},
        "server": {"port": 0},
    }
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder), settings)
        try:
            served.wait_ready()
            yield served
        finally:
            served.stop()


def wait_live(served: Served, topic: str) -> None:
    """Waits until the wiring that people see has this topic."""
    while served.http.get("/api/status").json()["orchestrator"]["usersTopic"] != topic:
        time.sleep(0.02)


def usage(pid: int) -> tuple[int, int]:
    """Returns the threads and the open files of a process and its descendants."""
    tree = [pid, *machine.descendants(pid)]
    threads = sum(len(list(Path(f"/proc/{each}/task").iterdir())) for each in tree)
    return threads, sum(len(list(Path(f"/proc/{each}/fd").iterdir())) for each in tree)


def measure_partitions(bootstrap: str, partitions: int, minutes: float) -> None:
    pairs = [
        (
            fill(bootstrap, f"u{mark}-{partitions}", partitions, (topics.user(f"u{i}", i, mark) for i in range(ROWS))),
            fill(bootstrap, f"a{mark}-{partitions}", partitions, (topics.account(f"u{i}", i) for i in range(ROWS))),
        )
        for mark in "xy"
    ]
    with serving(bootstrap, pairs[0], "left") as served:
        took = []
        for number in range(SWAPS):
            users, accounts = pairs[(number + 1) % 2]
            begin = time.perf_counter()
            served.http.post("/api/control", json={"usersTopic": users, "accountsTopic": accounts})
            wait_live(served, users)
            took.append(time.perf_counter() - begin)
        time.sleep(SETTLE_S)
        begin_usage, spent = usage(served.pid), machine.Spent(served.pid)
        time.sleep(60 * minutes)
        cores, end_usage = spent.cores, usage(served.pid)
    note("Evertable", "idle cores", cores, partitions=partitions)
    print(
        f"{partitions:10} {', '.join(f'{each:.1f}' for each in took):>15} {cores:11.2f} "
        f"{begin_usage[0]:8} → {end_usage[0]:<5} {begin_usage[1]:7} → {end_usage[1]:<5}",
        flush=True,
    )


def measure_quarantine(bootstrap: str) -> None:
    users = fill(bootstrap, "hot-users", 1, (topics.user(f"u{i}", i, "x") for i in range(ROWS)))
    accounts = fill(bootstrap, "hot-accounts", 1, (topics.account(f"u{i % ROWS}", i) for i in range(10 * ROWS)))
    with serving(bootstrap, (users, accounts), "inner") as served:
        before = machine.memory_mb(served.pid)
        for number, (left, right) in enumerate(HOT):
            send(bootstrap, users, 1, (topics.user(f"hot{number}", i, "x") for i in range(left)))
            send(bootstrap, accounts, 1, (topics.account(f"hot{number}", i) for i in range(right)))
            pages, total, begin = [], 0, time.perf_counter()
            while time.perf_counter() - begin < 90:
                start = time.perf_counter()
                total = served.http.get("/api/tables/final_ui/rows", params=PAGES).json()["total"]
                pages.append(time.perf_counter() - start)
                letters = served.http.get("/api/tables/dead_letters/rows").json()["total"]
                if letters > number and total == 10 * ROWS and len(pages) > 50:
                    break
            name = f"{left:,} × {right:,}"
            note("Evertable", "slowest page during a quarantine, s", max(pages), key=name)
            print(
                f"{name:15} {letters} dead letters, {total:,} rows; {len(pages)} pages, median "
                f"{1000 * float(np.median(pages)):.0f} ms, slowest {1000 * max(pages):.0f} ms; "
                f"server {before:.0f} → {machine.memory_mb(served.pid):.0f} MB",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long nothing happens")
    wanted = parser.parse_args()
    print(machine.description())
    with EmbeddedBroker() as broker:
        print("\npartitions     swaps, s       idle cores   threads         open files")
        for partitions in (1, 64):
            measure_partitions(broker.bootstrap, partitions, wanted.minutes)
        print("\nA key with so many rows on each side, in a live inner join")
        measure_quarantine(broker.bootstrap)


if __name__ == "__main__":
    main()
