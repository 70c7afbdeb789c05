"""The engine's speed: catch-up, latency from producer to changelog reader, and hot keys, for each join.

    .venv/bin/python -m benchmarks.engine                   # everything, about 25 minutes
    .venv/bin/python -m benchmarks.engine --messages 500    # a shorter run

Broker, Spark, producer and reader all run on this machine. Compare figures of one run only.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks import machine, topics
from benchmarks.figures import note

from evertable.broker import EmbeddedBroker
from evertable.changelog.changes import Changes
from evertable.changelog.positions import SourcePositions
from evertable.changelog.reader import ChangelogReader
from evertable.config import Config, JoinType
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.generations.build import build, changelog_topics

HOT_ROWS, HOT_PARTNERS = 200_000, 10
ODD_ROWS, ODD_ROUNDS = 100_000, 5


@dataclass
class CatchUp:
    """The catch-up of one generation, as a reader sees it."""

    rows: int = 0  # rejects count as rows
    matches: int = 0
    first_s: float = 0.0
    seconds: float = 0.0
    engine_cpu_s: float = 0.0
    reader_cpu_s: float = 0.0

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.seconds

    @property
    def us_per_change(self) -> float:
        """Microseconds for each row and each match, from the first one on."""
        return (self.seconds - self.first_s) / (self.rows + self.matches) * 1e6


class Bench:
    def __init__(self, bootstrap: str, engine: Engine, folder: Path) -> None:
        self.bootstrap = bootstrap
        self._engine = engine
        self._folder = folder
        self._generation = 0

    def run(
        self,
        config: Config,
        then: Callable[[ChangelogReader], None] = lambda _: None,
        fold: Callable[[Changes], object] = lambda _: None,
    ) -> CatchUp:
        """Builds a generation, reads and folds it until it is caught up, calls ``then``, and ends it."""
        self._generation += 1
        result = CatchUp()
        changelogs = changelog_topics(config)
        built = build(config, self._generation, changelogs, str(self._folder / f"checkpoint-{self._generation}"))
        with built.reader(config) as reader:
            positions = SourcePositions()
            cpu, own = machine.tree_cpu_seconds(self._engine.pid or 0), time.process_time()
            begin = time.perf_counter()
            self._engine.start(built.spec)
            while not built.backlog.is_read(positions):
                if changes := reader.poll(1.0):
                    result.first_s = result.first_s or time.perf_counter() - begin
                    result.rows += sum(batch.num_rows for batch in (*changes.rows, changes.rejects))
                    result.matches += changes.matches.num_rows
                    positions.add(changes)
                    fold(changes)
            result.seconds = time.perf_counter() - begin
            result.engine_cpu_s = machine.tree_cpu_seconds(self._engine.pid or 0) - cpu
            result.reader_cpu_s = time.process_time() - own
            then(reader)
        self._engine.stop(self._generation)
        self._engine.wait_released(self._generation, 60)
        changelogs.delete(self._generation)
        return result


def latencies(
    reader: ChangelogReader, bootstrap: str, topic: str, keys: int, messages: int, rate: float
) -> list[float]:
    """Milliseconds from before produce() to the decoded batch that holds the row."""
    sender = threading.Thread(target=topics.send_evenly, args=(bootstrap, topic, keys, messages, rate), daemon=True)
    found: list[float] = []
    begin = time.time_ns()
    sender.start()
    while len(found) < messages:
        changes = reader.poll(30.0)
        if changes is None:
            raise SystemExit(f"{messages - len(found)} messages did not arrive within 30 s")
        found += _latencies(changes, begin)
    sender.join()
    return found


def _latencies(changes: Changes, begin: int) -> list[float]:
    sent = changes.rows[1].column("sentAt").to_numpy(zero_copy_only=False)
    return [(time.time_ns() - at) / 1e6 for at in sent.tolist() if at >= begin]


def percentiles(values: list[float]) -> str:
    p50, p95, p99, most = np.percentile(values, [50, 95, 99, 100])
    return f"{p50:6.1f} {p95:6.1f} {p99:6.1f} {most:7.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--accounts", type=int, default=1_000_000)
    parser.add_argument("--messages", type=int, default=5_000, help="latency samples for each join; 0 for none")
    parser.add_argument("--rate", type=float, default=20, help="messages a second")
    parser.add_argument("--joins", nargs="+", type=JoinType.parse, default=list(JoinType))
    parser.add_argument("--trigger", default="realtime")
    parser.add_argument("--catch-up-only", action="store_true", help="omit hot keys and odd records")
    wanted = parser.parse_args()
    print(machine.description())
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker() as broker:
        folder = Path(name)
        with Engine(EngineSettings(log=folder / "spark.log")) as engine:
            bench = Bench(broker.bootstrap, engine, folder)
            measure(bench, wanted)


def measure(bench: Bench, wanted: argparse.Namespace) -> None:
    users, accounts = topics.spread(bench.bootstrap, wanted.users, wanted.accounts)
    print(f"\nCatch-up of {wanted.users:,} users and {wanted.accounts:,} accounts, then {wanted.rate:g} messages/s")
    print("join         rows/s   s to 1st  µs/change  engine cpu  reader cpu   p50    p95    p99     max ms   cores")
    per_change: dict[JoinType, float] = {}
    for i, join in enumerate([wanted.joins[0], wanted.joins[0], *wanted.joins]):
        config = topics.config(bench.bootstrap, users, accounts, join, wanted.trigger)
        timed = ["", ""]

        def sample(reader: ChangelogReader, timed: list[str] = timed) -> None:
            if wanted.messages:
                spent = machine.Spent(os.getpid())
                found = latencies(reader, bench.bootstrap, accounts, wanted.users, wanted.messages, wanted.rate)
                timed[:] = [percentiles(found), f"{spent.cores:.2f}"]

        warm = i >= 2
        done = bench.run(config, sample) if warm else bench.run(config)
        if warm:
            per_change[join] = done.us_per_change
            note("Evertable", "catch-up rows/s at the changelog", done.rows_per_s, join=join.value)
        label = join.value if warm else ("(cold)", "(warming)")[i]
        print(
            f"{label:9} {done.rows_per_s:9,.0f} {done.first_s:10.1f} {done.us_per_change:10.2f}"
            f" {done.engine_cpu_s:10.1f}s {done.reader_cpu_s:10.1f}s  {timed[0]}   {timed[1]}",
            flush=True,
        )
    if not wanted.catch_up_only:
        measure_hot(bench, wanted, per_change)
        measure_odd(bench, wanted)


def measure_hot(bench: Bench, wanted: argparse.Namespace, spread: dict[JoinType, float]) -> None:
    print(
        f"\nOne hot key: {HOT_ROWS:,} rows on one side, {HOT_PARTNERS} on the other; times the spread keys' µs/change"
    )
    print("join          left rows  right rows    matches  µs/change    ratio")
    for counts in ((HOT_ROWS, HOT_PARTNERS), (HOT_PARTNERS, HOT_ROWS)):
        users, accounts = topics.hot(bench.bootstrap, *counts)
        for join in wanted.joins:
            done = bench.run(topics.config(bench.bootstrap, users, accounts, join, wanted.trigger))
            ratio = done.us_per_change / spread[join]
            note("Evertable", "hot key, times as much for a change", ratio, join=join.value, left=counts[0])
            print(
                f"{join.value:9} {counts[0]:13,} {counts[1]:11,} {done.matches:10,}"
                f" {done.us_per_change:10.2f} {ratio:8.2f}",
                flush=True,
            )


def measure_odd(bench: Bench, wanted: argparse.Namespace) -> None:
    print(f"\n{ODD_ROWS:,} records of one kind, {ODD_ROUNDS} rounds and one before to warm up; ratio to good ones")
    print("kind          µs/record, each round      median  ratio")
    kinds = topics.odd(bench.bootstrap, ODD_ROWS)
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for i in range(1 + ODD_ROUNDS):
        for kind, (users, accounts) in kinds.items():
            config = topics.config(bench.bootstrap, users, accounts, JoinType.INNER, wanted.trigger)
            cost = bench.run(config).us_per_change
            found[kind] += [cost] if i else []
    for kind, costs in found.items():
        ratio = np.median(costs) / np.median(found["good rows"])
        print(
            f"{kind:12} {'  '.join(f'{cost:6.2f}' for cost in costs)}   {np.median(costs):10.2f} {ratio:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
