"""The load of a soak: a producer at a steady rate, a viewer that measures, and others that only watch."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from confluent_kafka import Producer

from evertable.client import Client, Page

KEYS = 10_000
TICK_S = 0.005
NEWEST = 200  # rows on the measuring viewer's page: more than one frame adds


class Feed:
    """Sends accounts (8 of 10 records), and users to both of their topics, until it is closed."""

    def __init__(self, bootstrap: str, users: tuple[str, ...], accounts: str, rate: int) -> None:
        self.sent = 0
        self._topics = (*users, *[accounts] * 8)
        self._accounts = accounts
        self._rate = rate
        self._random = random.Random(7)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-feed", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()
        self._producer.flush(30)

    def _run(self) -> None:
        begin, done = time.monotonic(), 0
        while not self._ending.wait(TICK_S):
            due = int((time.monotonic() - begin) * self._rate)
            for _ in range(min(due - done, self._rate)):  # after a stall, not all at once
                self._send()
            done = due
            self._producer.poll(0)

    def _send(self) -> None:
        topic, key = self._random.choice(self._topics), f"u{self._random.randrange(KEYS):05d}"
        if topic == self._accounts:
            record: dict[str, Any] = {"userId": key, "accountType": "chq", "balance": time.time()}
        else:
            record = {"userId": key, "name": f"{topic} {key}", "age": self._random.randrange(90)}
        self._producer.produce(topic, json.dumps(record))
        self.sent += 1


class Viewer:
    """Follows a view with the Python client, on a thread, and records problems."""

    def __init__(self, url: str, table: str, **view: Any) -> None:
        self.pages = 0
        self.problems: list[str] = []
        self._client = Client(url)
        self._watch = self._client.table(table).watch(**view)
        self._thread = threading.Thread(target=self._run, name=f"soak-viewer-{table}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._watch.close()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        last = (0, 0)
        try:
            for page in self._watch:
                self.pages += 1
                if (page.publication, page.version) < last:
                    self.problems.append(f"{page.table} went back from {last} to {page.publication, page.version}")
                if last[0] and not page.total:
                    self.problems.append(f"{page.table} was empty at {page.publication, page.version}")
                last = (page.publication, page.version)
                self.take(page)
        except Exception as error:  # any error is a problem of the soak, which continues
            self.problems.append(repr(error))

    def take(self, page: Page) -> None:
        """Handles a page."""


class Meter(Viewer):
    """Watches the newest accounts, whose balance is the time when they were sent."""

    def __init__(self, url: str, table: str) -> None:
        self._newest = time.time()
        self._ages: list[float] = []
        self._lock = threading.Lock()
        super().__init__(url, table, columns=["balance"], newest_first=True, limit=NEWEST)

    def take(self, page: Page) -> None:
        now = time.time()
        born = [value for (value,) in page.rows if isinstance(value, float) and value > self._newest]
        self._newest = max(born, default=self._newest)
        with self._lock:
            self._ages += [now - value for value in born]

    def latencies(self) -> Iterator[tuple[str, float]]:
        """Yields the latencies in ms of the records since the last call."""
        with self._lock:
            ages, self._ages = self._ages, []
        if ages:
            for percent in (50, 95):
                yield f"latency_p{percent}_ms", float(np.percentile(ages, percent)) * 1e3
        yield "records_seen", len(ages)
