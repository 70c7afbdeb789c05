"""Does anything grow? ``python -m benchmarks.soak --minutes 20 [--rate 1000] [--swap-every 60]``, or ``scripts/soak``.

With ``--swaps 100 --swap-every 5 --linger 1`` it runs for that many swaps instead, one after the other.

A real broker, ``evertable serve`` as a process of its own, a producer at a steady rate, viewers, and a swap every
minute: another join, or the other users' topic. After each swap the topics are cut to what came since the one before,
so that each generation begins with as many rows as the last, and whatever grows over the whole run should not.

Every few seconds it looks at memory, threads and open files of each process, at topics, checkpoints and temporary
files, and at how old a record is when a viewer has it. The end tells for each measure whether it stayed flat, and is
an exit code of 1 if one did not, or if a viewer or a swap had something to complain about.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from benchmarks.machine import description
from benchmarks.soak_load import Feed, Meter, Viewer
from benchmarks.soak_report import write
from benchmarks.soak_samples import Sample, Sampler
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from evertable.broker import EmbeddedBroker
from evertable.client import Client
from evertable.engine.session import JAVA_OPTIONS

ROOT = Path(__file__).parents[1]
USERS, ACCOUNTS = ("soak_users_a", "soak_users_b"), "soak_accounts"
JOINS = ("left", "natural", "asof", "inner")
PARTITIONS = 2
OFTEN = {"log.retention.check.interval.ms": "5000"}  # segments that were cut off go then; by default every 5 minutes
COLLECTIONS = 16  # of Spark's heap: only what a full one leaves tells whether it grows
SWAP_S = 120  # for a swap to be done
VIEWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("final_ui", {}),
    ("final_ui", {"newest_first": True, "limit": 50}),
    ("final_ui", {"sort": ["-balance"], "limit": 50}),
    ("users_ui", {"filter": "age > 50", "limit": 50}),
)


class Server:
    """``evertable serve`` as a process; what it says goes to a file."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        path, self._output = folder / "evertable.yaml", folder / "serve.log"
        path.write_text(yaml.safe_dump(settings, sort_keys=False))
        own = {"XDG_STATE_HOME": str(folder), "TMPDIR": str(folder / "temporary"), "NO_COLOR": "1"}
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from evertable.cli import main; main()", "serve", str(path)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **own},
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def url(self) -> str:
        """Where it serves, once it does."""
        while True:
            for line in self._output.read_text().splitlines():
                if line.startswith("Serving at"):
                    return line.split()[-1]
            if self._process.poll() is not None:
                raise SystemExit(self._output.read_text())
            time.sleep(0.1)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)

    @property
    def complaints(self) -> list[str]:
        """What it has said that is worse than information."""
        return [line for line in self._output.read_text().splitlines() if "[warning" in line or "[error" in line]


def settings(bootstrap: str, folder: Path, linger_s: int) -> dict[str, Any]:
    gc_log = f"-Xlog:gc:file={folder / 'gc.log'}:uptime:filecount=0"
    return {
        "app": "soak",
        "kafka": {"bootstrap.servers": bootstrap},
        "sources": {
            "users": {
                "topic": USERS[0],
                "key": "userId",
                "columns": {"userId": "string", "name": "string", "age": "long"},
            },
            "accounts": {
                "topic": ACCOUNTS,
                "key": "userId",
                "columns": {"userId": "string", "accountType": "string", "balance": "double"},
            },
        },
        "engine": {
            "checkpoint_dir": str(folder / "checkpoints"),
            "spark": {"spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {gc_log}"},
        },
        "swap": {"linger_s": linger_s},
        "server": {"port": 0},
    }


def make_topics(bootstrap: str) -> None:
    short = {"segment.ms": "10000", "file.delete.delay.ms": "1000"}
    topics = [NewTopic(name, PARTITIONS, 1, config=short) for name in (*USERS, ACCOUNTS)]
    admin = AdminClient({"bootstrap.servers": bootstrap})  # while it lives, so do its answers
    for done in admin.create_topics(topics).values():
        done.result(30)


@contextmanager
def scene(options: argparse.Namespace, folder: Path) -> Iterator[tuple[EmbeddedBroker, Server, Feed]]:
    """Broker, server and producer."""
    (folder / "temporary").mkdir()
    with ExitStack() as stack:
        broker = stack.enter_context(EmbeddedBroker(properties=OFTEN))
        make_topics(broker.bootstrap)
        feed = Feed(broker.bootstrap, USERS, ACCOUNTS, options.rate)
        feed.start()
        stack.callback(feed.end)
        server = Server(folder, settings(broker.bootstrap, folder, options.linger))
        stack.callback(server.stop)
        yield broker, server, feed


class Shears:
    """Cuts the topics. Retention would do so at any time, also between a build and Spark's first read."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "soak", "log_level": 0})
        self._last = self._ends()

    def cut(self) -> None:
        """Deletes what was there at the cut before this one."""
        for done in self._admin.delete_records(self._last).values():
            done.result(30)
        self._last = self._ends()

    def _ends(self) -> list[TopicPartition]:
        places = [TopicPartition(topic, number) for topic in (*USERS, ACCOUNTS) for number in range(PARTITIONS)]
        ends = [self._consumer.get_watermark_offsets(place, timeout=30)[1] for place in places]
        return [TopicPartition(place.topic, place.partition, end) for place, end in zip(places, ends, strict=True)]


class Swapper:
    """Swaps at its time, on a thread: for each join both users' topics in turn."""

    def __init__(self, url: str, every_s: float, shears: Shears) -> None:
        self.problems: list[str] = []
        self.done: list[float] = []
        """When each was done, in seconds of the monotonic clock."""
        self._every_s = every_s
        self._shears = shears
        self._client = Client(url)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-swapper", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        due = time.monotonic() + self._every_s
        for topic, join in itertools.cycle(itertools.product(reversed(USERS), JOINS)):
            if self._ending.wait(due - time.monotonic()):
                return
            due = time.monotonic() + self._every_s
            verdict = self._client.outcome(self._client.swap(usersTopic=topic, joinType=join), SWAP_S)
            if verdict.result != "applied":
                self.problems.append(f"swap to {topic} {join}: {verdict.result} {verdict.reason}")
            self.done.append(time.monotonic())
            self._shears.cut()


def progress(options: argparse.Namespace, begin: float, swapper: Swapper) -> float:
    """How much of the run is over: 1 is all of it."""
    if options.swaps:
        return len(swapper.done) / int(options.swaps)
    return (time.monotonic() - begin) / 60 / float(options.minutes)


def soak(options: argparse.Namespace, folder: Path) -> bool:
    """Runs it, writes the report, and says whether all was flat."""
    samples: list[Sample] = []
    with scene(options, folder) as (broker, server, feed), ExitStack() as stack:
        url = server.url()
        with Client(url) as client:
            while not client.status()["ready"]:
                time.sleep(0.2)
        folders = {"checkpoints": folder / "checkpoints", "temporary": folder / "temporary"}
        sampler = Sampler(server.pid, broker.pid, broker.bootstrap, folders, folder / "gc.log")
        meter, swapper = Meter(url, "accounts_ui"), Swapper(url, options.swap_every, Shears(broker.bootstrap))
        viewers = [meter, *(Viewer(url, table, **view) for table, view in VIEWS)]
        for viewer in viewers:
            stack.callback(viewer.end)
        stack.callback(swapper.end)
        begin, sent, collections = time.monotonic(), feed.sent, 0
        while (done := progress(options, begin, swapper)) < 1:
            time.sleep(options.sample_every)
            if done * COLLECTIONS >= collections:
                collections += 1
                sampler.collect()
            samples.append({"minute": (time.monotonic() - begin) / 60, **sampler.look(), **dict(meter.latencies())})
            if len(samples) % 12 == 0:
                said = {key: round(value, 1) for key, value in samples[-1].items() if "rss" in key or "p95" in key}
                print(f"{samples[-1]['minute']:.1f} min, {len(swapper.done)} swaps: {said}", flush=True)
        minutes = (time.monotonic() - begin) / 60
        rate = (feed.sent - sent) / minutes / 60
    problems = [*swapper.problems, *(problem for viewer in viewers for problem in viewer.problems), *server.complaints]
    if not swapper.done:
        problems.append("there was no swap")
    if not all(viewer.pages > len(swapper.done) for viewer in viewers):
        problems.append("a viewer saw next to nothing")
    swaps = [(at - begin) / 60 for at in swapper.done]
    sentence = (
        f"{minutes:.0f} minutes at {rate:,.0f} records/s, {len(swaps)} swaps, {len(viewers)} viewers, "
        f"a look every {options.sample_every:g} s."
    )
    if len(swaps) < 8:
        sentence += " Too short to say much: a quarter of it holds fewer than two swaps."
    about = {"machine": description(), "sentence": sentence, "minutes": round(minutes, 1), "rate": options.rate}
    return write(options.output, {**about, "swap_every_s": options.swap_every}, samples, swaps, problems)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--swaps", type=int, default=0, help="end after so many swaps instead")
    parser.add_argument("--linger", type=int, default=8, help="swap.linger_s")
    parser.add_argument("--rate", type=int, default=1_000, help="records a second")
    parser.add_argument("--swap-every", type=float, default=60, help="seconds from one swap to the next")
    parser.add_argument("--sample-every", type=float, default=5, help="seconds")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "soak", help="folder")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # or the server would be left behind
    with tempfile.TemporaryDirectory(prefix="evertable-soak-", ignore_cleanup_errors=True) as folder:
        flat = soak(options, Path(folder))
    sys.exit(0 if flat else 1)


if __name__ == "__main__":
    main()
