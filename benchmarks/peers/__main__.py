"""Evertable and its peers on the same topics and machine, taking turns: ``python -m benchmarks.peers``.

Each turn is a fresh process: a first catch-up (cold), memory, a second one over other topics of the same size (warm),
then records at two rates on their way to a remote viewer, and a while without any. Only one system runs at a time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict

import numpy as np
from benchmarks import machine, topics
from benchmarks.figures import note
from benchmarks.peers.deephaven import Deephaven
from benchmarks.peers.evertable import Evertable
from benchmarks.peers.system import Pair, Rows, System

from evertable.broker import EmbeddedBroker
from evertable.config import JoinType

RATES = (20, 1_000)
IDLE_S = 5.0
TINY = Rows(10, 100)
SWAPPED = Rows(10_000, 90_000)
GROWTH = (100_000, 1_000_000, 3_000_000)
GROWTH_JOIN = "left"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--joins", nargs="+", default=[join.value for join in JoinType])
    parser.add_argument("--seconds", type=float, default=25, help="of records at each rate")
    parser.add_argument("--accounts", type=int, default=1_000_000, help="and a tenth as many users")
    parser.add_argument("--growth", type=int, nargs="*", default=GROWTH, help="accounts, for one join")
    parser.add_argument("--only", default="", help="systems whose name contains this")
    wanted = parser.parse_args()
    print(machine.description())
    with EmbeddedBroker() as broker:
        tiny = topics.spread(broker.bootstrap, TINY.users, TINY.accounts, "tiny")
        systems: list[Callable[[], System]] = [
            lambda: Evertable(broker.bootstrap, tiny),
            lambda: Deephaven(broker.bootstrap, 100),
            lambda: Deephaven(broker.bootstrap, 1_000),
        ]
        systems = [system for system in systems if wanted.only in system().name]
        filled = Filled(broker.bootstrap)
        print("\nCatch-up rows/s cold and warm, memory, then ms (50, 95, 99 %) and cores at 20 and at 1,000 records/s")
        for number in range(wanted.rounds):
            for join in wanted.joins:
                for system in turn(systems, number):
                    with system() as running:
                        measure(running, filled.pairs(wanted.accounts), join, wanted.accounts, wanted.seconds, number)
        for number in range(wanted.rounds):
            for accounts in set(wanted.growth) - {wanted.accounts}:
                for system in turn(systems[:2], number):
                    with system() as running:
                        measure(running, filled.pairs(accounts), GROWTH_JOIN, accounts, wanted.seconds / 2, number)
        swaps(systems, broker.bootstrap, wanted.rounds)


class Filled:
    """Topics of each size, twice, filled when they are first wanted."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._pairs: dict[int, tuple[Pair, Pair]] = {}

    def pairs(self, accounts: int) -> tuple[Pair, Pair]:
        if accounts not in self._pairs:
            counts = (accounts // 10, accounts)
            first, second = (topics.spread(self._bootstrap, *counts, f"{name}{accounts}") for name in "ab")
            self._pairs[accounts] = (first, second)
        return self._pairs[accounts]


def turn(systems: list[Callable[[], System]], number: int) -> Iterator[Callable[[], System]]:
    """Another one first in each round."""
    at = number % len(systems)
    yield from systems[at:] + systems[:at]


def measure(system: System, pairs: tuple[Pair, Pair], join: str, accounts: int, seconds: float, number: int) -> None:
    about = {"join": join, "accounts": accounts, "round": number}

    def found(measure: str, value: float | list[float], **more: object) -> None:
        note(system.name, measure, value, **about, **more)

    rows = Rows(accounts // 10, accounts)
    line = f"{system.name:19} {join:8} {accounts:9,}"
    speeds = []
    for kind, pair in zip(("cold", "warm"), pairs, strict=True):
        cpu = machine.tree_cpu_seconds(system.pid)
        took = system.build(pair, join, rows)
        speeds.append((rows.users + rows.accounts) / took)
        found(f"catch-up rows/s, {kind}", speeds[-1], cores=(machine.tree_cpu_seconds(system.pid) - cpu) / took)
        if kind == "cold":
            memory = machine.tree_memory_mb(system.pid)
            found("memory MB", memory, root_mb=machine.memory_mb(system.pid))
    found("memory MB, root process at most", machine.memory_mb(system.pid, "VmHWM"))
    line += f" {speeds[0]:8,.0f} {speeds[1]:9,.0f} {memory:6,.0f}  "
    for rate in RATES:
        cpu, begin = machine.tree_cpu_seconds(system.pid), time.perf_counter()
        ages = system.latencies(pairs[1][1], join, round(seconds * rate), rate)
        cores = (machine.tree_cpu_seconds(system.pid) - cpu) / (time.perf_counter() - begin)
        found(f"ms at {rate}/s", ages, cores=cores, missing=round(seconds * rate) - len(ages))
        line += " ".join(f"{part:7.1f}" for part in np.percentile(ages, [50, 95, 99])) + f" ({cores:.2f} cores)  "
    cpu = machine.tree_cpu_seconds(system.pid)
    time.sleep(IDLE_S)
    found("idle cores", (machine.tree_cpu_seconds(system.pid) - cpu) / IDLE_S)
    print(line, flush=True)


def swaps(systems: list[Callable[[], System]], bootstrap: str, rounds: int) -> None:
    print("\nA swap of 100,000 rows: seconds until an open viewer sees the new topics, until any does, until all of")
    print("their rows are there, and how long that viewer had no row, an error or only some of the rows")
    pairs = {
        called: topics.spread(bootstrap, SWAPPED.users, SWAPPED.accounts, f"swap-{called}", called)
        for called in ("one", "two")
    }
    for system in systems:
        with system() as running:
            for number in range(rounds + 1):  # the first one warms up
                called = ("one", "two")[number % 2]
                if number == 0:
                    running.build(pairs[called], "left", SWAPPED)
                    continue
                seen = running.swap(pairs[called], called, SWAPPED)
                note(running.name, "swap", 0.0, round=number, **asdict(seen))
                opened = "never" if seen.open_viewer_s is None else f"{seen.open_viewer_s:.2f}"
                times = f"{seen.any_viewer_s:6.2f} {seen.complete_s:6.2f} {seen.nothing_s:6.2f}"
                print(f"{running.name:19} {opened:>6} {times}", flush=True)


if __name__ == "__main__":
    main()
