"""The time of swaps, rollbacks and restarts, and the cost of a swap for viewers: ``python -m benchmarks.swaps``.

A real broker, ``evertable serve`` as a separate process, and a viewer in this one. A swap is measured from the POST to
the viewer's first page of the new wiring.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import topics
from benchmarks.figures import note
from benchmarks.machine import description
from benchmarks.peers.evertable import KEYS, newest, stamps
from benchmarks.served import Served, viewer
from websockets.sync.client import ClientConnection

from evertable.broker import EmbeddedBroker

SMALL = (10_000, 90_000)
LARGE = (100_000, 1_000_000)
ROUNDS = 5
ROLLBACKS = 20
COMMITTED_S = 5.0
"""The first epoch ends with the backlog, so by then everything that was read is committed."""
BEFORE_S = (10.0, 12.5, 15.0, 17.5)
"""The age of the live generation when another one starts to warm."""
RATE = 20

Pair = tuple[str, str]


def next_publication(socket: ClientConnection, after: int) -> int:
    """Waits for the first page of a later publication, and returns that."""
    while True:
        frame = json.loads(socket.recv())
        if frame["type"] == "page" and frame["publication"] > after:
            return int(frame["publication"])


def named(pair: Pair) -> dict[str, str]:
    return {"usersTopic": pair[0], "accountsTopic": pair[1]}


def swaps(served: Served, pairs: list[Pair], what: str, budget: str, joins: tuple[str, ...] = ("left",)) -> None:
    """Swaps between the pairs, several times."""
    took = []
    with viewer(served.url) as socket:
        seen = next_publication(socket, -1)
        for number in range(ROUNDS + 1):
            message = {**named(pairs[number % len(pairs)]), "joinType": joins[number % len(joins)]}
            start = time.perf_counter()
            served.http.post("/api/control", json=message)
            seen = next_publication(socket, seen)
            took.append(time.perf_counter() - start)
    report(what, took[1:], budget)  # the first one warms up


def rollbacks(served: Served, pairs: list[Pair], what: str, budget: str) -> None:
    """Rolls back and forth between two generations with POST /api/rollback."""
    took = []
    with viewer(served.url) as socket:
        seen = next_publication(socket, -1)
        for pair in pairs:
            served.http.post("/api/control", json={**named(pair), "joinType": "inner"})
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
    note("Evertable", f"ms: {what}", ms.tolist())
    print(f"| {what} | {np.median(ms):,.0f} | {ms.min():,.0f} | {ms.max():,.0f} | {budget} |", flush=True)


def while_warming(served: Served, bootstrap: str, pair: Pair) -> None:
    """How old records are at a viewer of the live generation, before and while one of 1.1M rows warms beside it."""
    ages: dict[str, list[float]] = {"before": [], "warming": []}
    for number, before_s in enumerate(BEFORE_S):
        join = ("inner", "left")[number % 2]
        with viewer(served.url, **newest(join)) as socket, topics.sending(bootstrap, pair[1], KEYS, 10_000, RATE):
            seen, begin = next_publication(socket, -1), time.time_ns()
            phase, known = "before", set[int]()
            while True:
                frame = json.loads(socket.recv())
                now = time.time_ns()
                if frame["publication"] > seen:
                    break
                new = {stamp for stamp in stamps(frame) if stamp >= begin} - known
                known |= new
                ages[phase] += [(now - stamp) / 1e6 for stamp in new]
                if phase == "before" and now - begin > before_s * 1e9:
                    phase = "warming"
                    served.http.post("/api/control", json={**named(pair), "joinType": join})
    (calm, calm_95), (busy, busy_95) = (np.percentile(ages[phase], [50, 95]) for phase in ("before", "warming"))
    note("Evertable", "live p95 while another warms, ratio", busy_95 / calm_95, before=calm_95, warming=busy_95)
    print(f"\nRecords at {RATE}/s at a viewer: p50 {calm:.1f}, p95 {calm_95:.1f} ms; while a generation of 1.1M rows")
    text = f"p50 {busy:.1f}, p95 {busy_95:.1f} ms, {busy_95 / calm_95:.1f} times (budget 5)"
    print(f"warms ({len(ages['warming'])} records): {text}")


def restart(served: Served, folder: Path, settings: dict[str, Any]) -> tuple[float, Served]:
    """Restarts the server; returns the seconds from the command to ready, and the new server."""
    served.stop()
    start = time.perf_counter()
    served = Served(folder, settings)
    served.wait_ready()
    return time.perf_counter() - start, served


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
        served.stop()
        settings["swap"]["linger_s"] = 0
        served = Served(folder, settings)
        served.wait_ready()
        with viewer(served.url) as socket:
            seen = next_publication(socket, -1)
            served.http.post("/api/control", json={**named(large), "joinType": "left"})
            next_publication(socket, seen)
        while_warming(served, broker.bootstrap, large)
        at_once, served = restart(served, folder, settings)
        time.sleep(COMMITTED_S)
        later, served = restart(served, folder, settings)
        served.stop()
        note("Evertable", "restart s with 1.1M rows, right behind a swap", at_once)
        note("Evertable", "restart s with 1.1M rows", later)
        print(f"\nRestart with 1.1M rows: {later:.1f} s from the command to ready (budget 15);")
        print(f"right after a swap, before its first commit: {at_once:.1f} s")


if __name__ == "__main__":
    main()
