"""How long swaps, rollbacks, restarts and a record's way to a viewer take: ``python -m benchmarks.swaps``.

A real broker, ``evertable serve`` in a process of its own, and a viewer on a socket in this one. A swap is measured
from the POST to the viewer's first page of the new wiring.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import topics
from benchmarks.machine import description, tree_cpu_seconds
from benchmarks.served import Served, viewer
from websockets.sync.client import ClientConnection

from evertable.broker import EmbeddedBroker

SMALL = (10_000, 90_000)
LARGE = (100_000, 1_000_000)
ROUNDS = 5
ROLLBACKS = 20
MESSAGES, RATE = 1_000, 20

Pair = tuple[str, str]


def next_publication(socket: ClientConnection, after: int) -> int:
    """The publication of the first page that is newer."""
    while True:
        frame = json.loads(socket.recv())
        if frame["type"] == "page" and frame["publication"] > after:
            return int(frame["publication"])


def swaps(served: Served, pairs: list[Pair], what: str, budget: str, joins: tuple[str, ...] = ("left",)) -> None:
    """Goes round the pairs, a few times."""
    took = []
    with viewer(served.url) as socket:
        seen = next_publication(socket, -1)
        for number in range(ROUNDS + 1):
            users, accounts = pairs[number % len(pairs)]
            message = {"usersTopic": users, "accountsTopic": accounts, "joinType": joins[number % len(joins)]}
            start = time.perf_counter()
            served.http.post("/api/control", json=message)
            seen = next_publication(socket, seen)
            took.append(time.perf_counter() - start)
    report(what, took[1:], budget)  # the first one warms up


def rollbacks(served: Served, pairs: list[Pair], what: str, budget: str) -> None:
    """Back and forth between two generations that were both built before, by POST /api/rollback."""
    took = []
    with viewer(served.url) as socket:
        seen = next_publication(socket, -1)
        for users, accounts in pairs:
            message = {"usersTopic": users, "accountsTopic": accounts, "joinType": "inner"}
            served.http.post("/api/control", json=message)
            seen = next_publication(socket, seen)
        for _ in range(ROLLBACKS):
            time.sleep(0.5)
            start = time.perf_counter()
            served.http.post("/api/rollback")
            seen = next_publication(socket, seen)
            took.append(time.perf_counter() - start)
    report(what, took, budget)


def report(what: str, seconds: list[float], budget: str) -> None:
    """A line of the table."""
    ms = np.array(seconds) * 1e3
    print(f"| {what} | {np.median(ms):,.0f} | {ms.min():,.0f} | {ms.max():,.0f} | {budget} |", flush=True)


def latency(served: Served, bootstrap: str, topic: str) -> None:
    """From ``produce()`` to the parsed frame of a viewer who watches the newest rows."""
    sender = threading.Thread(target=topics.send_paced, args=(bootstrap, topic, LARGE[0], MESSAGES, RATE))
    ages: list[float] = []
    with viewer(served.url, newestFirst=True, limit=20, columns=["sentAt"]) as socket:
        next_publication(socket, -1)
        cpu, start = tree_cpu_seconds(served.pid), time.perf_counter()
        sender.start()
        known: set[int] = set()
        while len(known) < MESSAGES:
            frame = json.loads(socket.recv())
            now = time.time_ns()
            rows = [row for _, _, put in frame.get("splice", ()) for row in put] + frame.get("rows", [])
            stamps = {int(row[0]) for row in rows if row[0]} - known
            known |= {stamp for stamp in stamps if now - stamp < 60e9}
            ages += [(now - stamp) / 1e6 for stamp in stamps if now - stamp < 60e9]
        cores = (tree_cpu_seconds(served.pid) - cpu) / (time.perf_counter() - start)
        sender.join()
    p50, p95, p99 = np.percentile(ages, [50, 95, 99])
    print(
        f"\n{MESSAGES} records at {RATE}/s to a viewer over 1.1M rows: p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.0f} ms",
        end="",
    )
    print(f" (budget 40 / 60); {cores:.2f} cores for Spark, server and orchestrator")


def main() -> None:
    print(description())
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker() as broker:
        folder = Path(name)
        small = [topics.spread(broker.bootstrap, *SMALL, name=f"small{i}") for i in range(2)]
        large = topics.spread(broker.bootstrap, *LARGE)
        settings: dict[str, Any] = {
            "app": "bench",
            "kafka": {"bootstrap.servers": broker.bootstrap},
            "sources": {
                "users": {"topic": small[0][0], "key": "userId", "columns": topics.USERS},
                "accounts": {"topic": small[0][1], "key": "userId", "columns": topics.ACCOUNTS},
            },
            "swap": {"linger_s": 0, "timeout_s": 600},
            "server": {"port": 0},
        }
        served = Served(folder, settings)
        served.wait_ready()
        print("\n| | median ms | least | most | budget |\n|---|---|---|---|---|")
        swaps(served, [small[1], small[0]], "swap between topics of 100k rows", "5,000")
        swaps(served, [large], "swap to topics of 1.1M rows, each time another join", "", ("inner", "natural"))
        served.stop()
        settings["swap"]["linger_s"] = 600
        served = Served(folder, settings)
        served.wait_ready()
        rollbacks(served, [small[0], large], f"rollback to one that lingers, {ROLLBACKS} times", "100")
        served.http.post("/api/control", json={"usersTopic": large[0], "accountsTopic": large[1], "joinType": "inner"})
        time.sleep(2)
        latency(served, broker.bootstrap, large[1])
        served.stop()
        start = time.perf_counter()
        served = Served(folder, settings)
        served.wait_ready()
        print(f"\nRestart with 1.1M rows: {time.perf_counter() - start:.1f} s from the command to ready (budget 15)")
        served.stop()


if __name__ == "__main__":
    main()
