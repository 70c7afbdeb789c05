"""The time until all viewers see a flip; run by ``benchmarks.viewers``."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from benchmarks.figures import note
from benchmarks.machine import memory_mb
from benchmarks.samples import ACCOUNTS, USERS
from benchmarks.viewer_load import Seen, connect
from benchmarks.viewer_server import ServerProcess

from evertable.schema.joins import JoinType

VIEWERS, FLIPS, TABLES = 200, 20, ("final_ui", "accounts_ui")
REST_S, LATE_S = 0.5, 60.0
VIEWS: tuple[dict[str, Any], ...] = (
    {},
    {"newestFirst": True, "limit": 20},
    {"offset": 500_000},
    {"columns": ["accountType", "balance"], "limit": 50},
    {"sort": ["-balance"], "limit": 50},
    {"sort": ["accountType", "-balance"]},
    {"filter": "balance >= 5000", "columns": ["userId", "balance"]},
    {"filter": "accountType = 'chq'", "offset": 1_000},
    {"filter": "accountType in ('sav', 'card')", "newestFirst": True},
    {"filter": "balance > 9000", "sort": ["userId"]},
)


async def flip(server: ServerProcess, seen: Seen) -> tuple[list[float], list[float]]:
    """Flips, and returns the milliseconds of each step and of each subscription until its page."""
    times = await asyncio.to_thread(server.flip)
    arrivals = seen.arrivals[int(times["publication"])]
    async with asyncio.timeout(LATE_S):
        while len(arrivals) < VIEWERS * len(TABLES):
            await asyncio.sleep(0.005)
    called, flipped, last = times["called"], times["flipped"], max(arrivals)
    steps = [flipped - called, times["returned"] - flipped, last - flipped, last - called]
    return [1e3 * step for step in steps], [1e3 * (arrival - flipped) for arrival in arrivals]


async def measure(server: ServerProcess) -> None:
    seen = Seen()
    wanted = [[(table, VIEWS[i % len(VIEWS)]) for table in TABLES] for i in range(VIEWERS)]
    viewers = await connect(server.url, wanted, seen)
    async with asyncio.timeout(LATE_S):
        while len(seen.arrivals[1]) < VIEWERS * len(TABLES):
            await asyncio.sleep(0.05)
    steps, waits = [], []
    for _ in range(FLIPS):
        await asyncio.sleep(REST_S)
        taken, arrived = await flip(server, seen)
        steps.append(taken)
        waits += arrived
    prepared, made, last, whole = np.array(steps).T
    _line("publish called → flipped: sorts and filters are computed on the new tables first", prepared)
    _line("flipped → publish returns: every view's page is made", made)
    _line("flipped → a subscription's first page", np.array(waits))
    note("Evertable", "flip, ms to the last of 200 viewers", last.tolist())
    _line("**flipped → the last subscription's first page**", last, "≤ 100")
    _line("publish called → the last subscription's first page", whole)
    peak = memory_mb(server.pid, "VmHWM")
    note("Evertable", "memory MB of two generations at most", peak)
    print(f"\nSockets lost: {seen.lost}. The server's memory at its peak: {peak:,.0f} MB; budget 1,200 MB.")
    for viewer in viewers:
        viewer.leave()


def _line(what: str, ms: np.ndarray, budget: str = "") -> None:
    print(f"| {what} | {np.median(ms):,.0f} | {np.percentile(ms, 95):,.0f} | {ms.max():,.0f} | {budget} |", flush=True)


def flips(rate: int) -> None:
    """Measures flips, and prints a table."""
    views = f"{len(VIEWS)} views of each of {len(TABLES)} tables"
    print(f"\n### Flips: {VIEWERS} viewers, {views}, {FLIPS} flips")
    print(f"\nTwo generations, {USERS + ACCOUNTS:,} rows each; {rate:,} new accounts/s flow into both.\n")
    print("| | median ms | 95 % | max | budget |")
    print("|---|---|---|---|---|")
    with ServerProcess(JoinType.LEFT, ACCOUNTS, USERS, rate, generations=2) as server:
        asyncio.run(measure(server))
