"""Does anything grow? ``python -m benchmarks.soak --minutes 20 [--rate 1000] [--swap-every 60]``, or ``scripts/soak``.

With ``--swaps 100 --swap-every 5 --linger 1`` it runs for that many swaps instead, one after the other.

A real broker, ``evertable serve`` as a separate process, a producer at a steady rate, viewers, and a swap every
minute: another join, or the other users' topic. After each swap the records before the previous one are deleted, so
that all generations begin with about as many rows, and nothing should grow over the whole run.

Every few seconds it samples memory, threads and open files of each process, topics, checkpoints and temporary files,
and the age of records at a viewer. The report shows which measures stayed flat; the exit code is 1 if one did not, or
if a viewer, a swap or the server had a problem.
"""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.machine import description
from benchmarks.served import Served
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
OFTEN = {"log.retention.check.interval.ms": "5000"}  # when deleted segments are removed; by default every 5 minutes
COLLECTIONS = 16  # full ones of Spark's heap, after which its size is known
SWAP_S = 120  # timeout of a swap
VIEWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("final_ui", {}),
    ("final_ui", {"newest_first": True, "limit": 50}),
    ("final_ui", {"sort": ["-balance"], "limit": 50}),
    ("users_ui", {"filter": "age > 50", "limit": 50}),
)


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
    admin = AdminClient({"bootstrap.servers": bootstrap})  # must outlive its results
    for done in admin.create_topics(topics).values():
        done.result(30)


@contextmanager
def running(options: argparse.Namespace, folder: Path) -> Iterator[tuple[EmbeddedBroker, Served, Feed]]:
    """Runs broker, server and producer."""
    (folder / "temporary").mkdir()
    with ExitStack() as stack:
        broker = stack.enter_context(EmbeddedBroker(properties=OFTEN))
        make_topics(broker.bootstrap)
        feed = Feed(broker.bootstrap, USERS, ACCOUNTS, options.rate)
        feed.start()
        stack.callback(feed.end)
        made = settings(broker.bootstrap, folder, options.linger)
        server = Served(folder, made, TMPDIR=str(folder / "temporary"))
        stack.callback(server.stop)
        yield broker, server, feed


class Retention:
    """Deletes old records. Kafka's own retention would do so at any time, even between a build and the first read."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "soak", "log_level": 0})
        self._last = self._ends()

    def apply(self) -> None:
        """Deletes all records that existed at the previous call."""
        for done in self._admin.delete_records(self._last).values():
            done.result(30)
        self._last = self._ends()

    def _ends(self) -> list[TopicPartition]:
        places = [TopicPartition(topic, number) for topic in (*USERS, ACCOUNTS) for number in range(PARTITIONS)]
        ends = [self._consumer.get_watermark_offsets(place, timeout=30)[1] for place in places]
        return [TopicPartition(place.topic, place.partition, end) for place, end in zip(places, ends, strict=True)]


class Swapper:
    """Swaps periodically, on a thread, through all joins and both users' topics."""

    def __init__(self, url: str, every_s: float, retention: Retention) -> None:
        self.problems: list[str] = []
        self.done: list[float] = []
        """When each swap was done, in seconds of the monotonic clock."""
        self._every_s = every_s
        self._retention = retention
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
            self._retention.apply()


def progress(options: argparse.Namespace, begin: float, swapper: Swapper) -> float:
    """Returns the share of the run that is over."""
    if options.swaps:
        return len(swapper.done) / int(options.swaps)
    return (time.monotonic() - begin) / 60 / float(options.minutes)


def soak(options: argparse.Namespace, folder: Path) -> bool:
    """Runs the soak, writes the report, and returns whether everything was flat."""
    samples: list[Sample] = []
    with running(options, folder) as (broker, server, feed), ExitStack() as stack:
        url = server.url
        server.wait_ready()
        folders = {"checkpoints": folder / "checkpoints", "temporary": folder / "temporary"}
        sampler = Sampler(server.pid, broker.pid, broker.bootstrap, folders, folder / "gc.log")
        meter, swapper = Meter(url, "accounts_ui"), Swapper(url, options.swap_every, Retention(broker.bootstrap))
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
            samples.append({"minute": (time.monotonic() - begin) / 60, **sampler.sample(), **dict(meter.latencies())})
            if len(samples) % 12 == 0:
                shown = {key: round(value, 1) for key, value in samples[-1].items() if "rss" in key or "p95" in key}
                print(f"{samples[-1]['minute']:.1f} min, {len(swapper.done)} swaps: {shown}", flush=True)
        minutes = (time.monotonic() - begin) / 60
        rate = (feed.sent - sent) / minutes / 60
    problems = [*swapper.problems, *(problem for viewer in viewers for problem in viewer.problems), *server.warnings()]
    if not swapper.done:
        problems.append("there was no swap")
    if not all(viewer.pages > len(swapper.done) for viewer in viewers):
        problems.append("a viewer saw fewer pages than swaps")
    swaps = [(at - begin) / 60 for at in swapper.done]
    sentence = (
        f"{minutes:.0f} minutes at {rate:,.0f} records/s, {len(swaps)} swaps, {len(viewers)} viewers, "
        f"a sample every {options.sample_every:g} s."
    )
    if len(swaps) < 8:
        sentence += " Too short to be reliable: a quarter of it has fewer than two swaps."
    about = {"machine": description(), "sentence": sentence, "minutes": round(minutes, 1), "rate": options.rate}
    return write(options.output, {**about, "swap_every_s": options.swap_every}, samples, swaps, problems)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--swaps", type=int, default=0, help="end after this many swaps instead")
    parser.add_argument("--linger", type=int, default=8, help="swap.linger_s")
    parser.add_argument("--rate", type=int, default=1_000, help="records a second")
    parser.add_argument("--swap-every", type=float, default=60, help="seconds from one swap to the next")
    parser.add_argument("--sample-every", type=float, default=5, help="seconds")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "soak", help="folder")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is stopped
    with tempfile.TemporaryDirectory(prefix="evertable-soak-", ignore_cleanup_errors=True) as folder:
        flat = soak(options, Path(folder))
    sys.exit(0 if flat else 1)


if __name__ == "__main__":
    main()
