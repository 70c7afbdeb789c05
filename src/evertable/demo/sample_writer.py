"""Writes sample records to the demo's topics: a first set, then changed balances and new accounts."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
from confluent_kafka import Producer

from evertable.demo.datasets import DATASETS, Record
from evertable.kafka.admin import Admin
from evertable.kafka.errors import QUIET
from evertable.kafka.topics import create, topic_names

PARTITIONS = 2
_TIMEOUT_S = 30.0


class SampleWriter:
    """Writes to the sample topics; ``rows`` is the number of users in each dataset."""

    def __init__(self, servers: str, rows: int) -> None:
        self._kafka = {"bootstrap.servers": servers}
        self._rows = rows
        self._producer = Producer({**self._kafka, "enable.idempotence": True, "linger.ms": 5}, logger=QUIET)
        self._accounts = {dataset: dataset.accounts(rows, random.Random(dataset.number)) for dataset in DATASETS}  # noqa: S311

    def fill(self) -> int:
        """Creates missing topics and writes their first records; returns how many."""
        admin = Admin(self._kafka)
        existing = set(topic_names(self._kafka, timeout_s=_TIMEOUT_S))
        written = 0
        for dataset in DATASETS:
            users, accounts = dataset.topics
            first = list(itertools.islice(self._accounts[dataset], self._rows - self._rows // 10))
            if {users, accounts} <= existing:
                continue
            for topic in {users, accounts} - existing:
                create(admin, topic, PARTITIONS, 1, {}, _TIMEOUT_S)
            for user in dataset.users(self._rows):
                self._send(users, user)
            for account in first:
                self._send(accounts, account)
            written += self._rows + len(first)
        self._producer.flush(_TIMEOUT_S)
        return written

    @contextmanager
    def writing_changes(self, rate: float) -> Iterator[None]:
        """Writes ``rate`` changes per second until the block ends."""
        stop = threading.Event()
        thread = threading.Thread(target=self._write_changes, args=(rate, stop), name="demo-feeder", daemon=True)
        if rate > 0:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if rate > 0:
                thread.join()
            self._producer.purge()
            self._producer.flush(1)

    def _write_changes(self, rate: float, stop: threading.Event) -> None:
        due = time.monotonic()
        for dataset in itertools.cycle(DATASETS):
            account = next(self._accounts[dataset], None)
            due = max(due + 1 / rate, time.monotonic() - 1)  # no burst after a suspend
            if account is None or stop.wait(max(0.0, due - time.monotonic())):
                return
            self._send(dataset.topics[1], account)

    def _send(self, topic: str, record: Record) -> None:
        while True:
            try:
                self._producer.produce(topic, orjson.dumps(record), str(record["userId"]))
                break
            except BufferError:  # the producer's queue is full
                self._producer.poll(0.1)
        self._producer.poll(0)
