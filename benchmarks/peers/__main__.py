"""Evertable and its peers take turns on the same topics and machine: ``python -m benchmarks.peers``.

Each turn is a fresh process: a first catch-up (cold), memory, a second one over other topics of the same size, a third
one over the first topics (warm), then records at two rates to a remote viewer, and a while without any. Only one system
runs at a time.
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
from benchmarks.peers.system import NoAnswerError, Pair, Rows, System

from evertable.broker import EmbeddedBroker
from evertable.config import JoinType

RATES = {20: 1.0, 1_000: 0.25}
"""Records a second, and the share of the time; the records stay in the topics, so they should be few."""
SECONDS = 31.0
"""More than an epoch, so that Evertable commits during the measurement."""
IDLE_S = 5.0
AFTER_BAD = 40
TINY = Rows(10, 100)
SWAPPED = Rows(10_000, 90_000)
GROWTH = (100_000, 1_000_000, 3_000_000)
GROWTH_JOIN = "left"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--joins", nargs="*", default=[join.value for join in JoinType])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of records at 20/s, a quarter of it at 1,000/s")
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
        print("\nCatch-up, then the age of records at a remote viewer: 50, 95, 99 %")
        for number in range(wanted.rounds):
            for join in wanted.joins:
                for system in turn(systems, number):
                    with system() as running:
                        pairs = filled.pairs(wanted.accounts)
                        catch_up(running, pairs[0], join, wanted.accounts, number, "cold")
                        measure(running, pairs, join, wanted.accounts, wanted.seconds, number)
        for number in range(wanted.rounds):
            for accounts in sorted(set(wanted.growth) - {wanted.accounts}):
                for system in turn(systems[:2], number):
                    with system() as running:
                        running.build(filled.pairs(min(wanted.growth))[0], GROWTH_JOIN, rows_of(min(wanted.growth)))
                        measure(running, filled.pairs(accounts), GROWTH_JOIN, accounts, wanted.seconds, number)
        swaps(systems, broker.bootstrap, wanted.rounds)


class Filled:
    """Two pairs of topics of each size, filled on first use."""

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
    """Yields the systems, in each round with another one first."""
    at = number % len(systems)
    yield from systems[at:] + systems[:at]


def rows_of(accounts: int) -> Rows:
    return Rows(accounts // 10, accounts)


def catch_up(system: System, pair: Pair, join: str, accounts: int, number: int, kind: str) -> float:
    """Measures a catch-up in rows a second, and the memory after it."""
    rows, spent = rows_of(accounts), machine.Spent(system.pid)
    took = system.build(pair, join, rows)
    cores = spent.cores
    speed = (rows.users + rows.accounts) / took
    about: dict[str, object] = {"join": join, "accounts": accounts, "round": number}
    note(system.name, f"catch-up rows/s, {kind}", speed, **about, cores=cores)
    note(
        system.name,
        f"memory MB, {kind}",
        machine.tree_memory_mb(system.pid),
        **about,
        root_mb=machine.memory_mb(system.pid),
    )
    print(f"{system.name:19} {join:8} {accounts:9,} {kind} {speed:9,.0f} rows/s, {cores:.2f} cores", flush=True)
    return speed


def measure(system: System, pairs: tuple[Pair, Pair], join: str, accounts: int, seconds: float, number: int) -> None:
    """Measures two catch-ups, records at each rate, and an idle time."""
    pair, other = pairs
    catch_up(system, other, join, accounts, number, "warming")
    catch_up(system, pair, join, accounts, number, "warm")
    about: dict[str, object] = {"join": join, "accounts": accounts, "round": number}
    note(system.name, "memory MB, root process at most", machine.memory_mb(system.pid, "VmHWM"), **about)
    text = ""
    for rate, share in RATES.items():
        messages = round(seconds * share * rate)
        spent = machine.Spent(system.pid)
        ages = system.latencies(pair[1], join, messages, rate)
        cores = spent.cores
        note(system.name, f"ms at {rate}/s", ages, **about, cores=cores, missing=messages - len(ages))
        parts = " ".join(f"{part:7.1f}" for part in np.percentile(ages, [50, 95, 99]))
        text += f" {rate:5}/s {parts} ms, {cores:.2f} cores;"
    spent = machine.Spent(system.pid)
    time.sleep(IDLE_S)
    idle = spent.cores
    note(system.name, "idle cores", idle, **about)
    print(f"{system.name:19} {join:8} {accounts:9,}{text} idle {idle:.2f}", flush=True)


def swaps(systems: list[Callable[[], System]], bootstrap: str, rounds: int) -> None:
    print("\nA swap of 100,000 rows: seconds until an open viewer sees the new topics, until any viewer does, until")
    print("all of their rows are shown, and how long that viewer had no row, an error or only some of the rows")
    for system in systems:
        with system() as running:
            own, counts = (
                time.time_ns(),
                (SWAPPED.users, SWAPPED.accounts),
            )  # bad records are sent at the end
            pairs = {
                called: topics.spread(bootstrap, *counts, f"swap-{called}-{own}", called) for called in ("one", "two")
            }
            for number in range(rounds + 1):  # the first one warms up
                called = ("one", "two")[number % 2]
                if number == 0:
                    running.build(pairs[called], "left", SWAPPED)
                    continue
                spent = machine.Spent(running.pid)
                seen = running.swap(pairs[called], called, SWAPPED)
                cores, memory = spent.cores, machine.tree_memory_mb(running.pid)
                note(running.name, "swap", 0.0, round=number, **asdict(seen), cores=cores, memory_mb=memory)
                opened = "never" if seen.open_viewer_s is None else f"{seen.open_viewer_s:.2f}"
                times = f"{seen.any_viewer_s:6.2f} {seen.complete_s:6.2f} {seen.nothing_s:6.2f}"
                print(f"{running.name:19} {opened:>6} {times}  {cores:.2f} cores, {memory:,.0f} MB", flush=True)
            survive(running, bootstrap, pairs[called][1])


def survive(system: System, bootstrap: str, topic: str) -> None:
    """Sends three bad records, then good ones, and counts those that are seen."""
    topics.send_bad(bootstrap, topic)
    try:
        seen = len(system.latencies(topic, "left", AFTER_BAD, 20))
    except NoAnswerError as error:
        print(str(error).splitlines()[-1])
        seen = 0
    note(system.name, "good records seen after bad ones", seen, sent=AFTER_BAD)
    print(f"{system.name:19} after three bad records {seen} of {AFTER_BAD} good ones are seen", flush=True)


if __name__ == "__main__":
    main()
