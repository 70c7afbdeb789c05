"""Writes sample records to the demo's topics: a first set, then changed balances and new accounts."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import orjson
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from evertable.demo.datasets import DATASETS, Record
from evertable.kafka.errors import QUIET, explain

PARTITIONS = 2
_TIMEOUT_S = 30.0


class SampleWriter:
    """Writes to the sample topics; as a context manager, continues until the block ends."""

    def __init__(self, servers: str, rows: int, rate: float) -> None:
        self._servers = servers
        self._rows = rows
        self._rate = rate
        self._producer = Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5}, logger=QUIET
        )
        self._accounts = {dataset: dataset.accounts(rows, random.Random(dataset.number)) for dataset in DATASETS}  # noqa: S311
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo-feeder", daemon=True)

    def fill(self) -> int:
        """Creates missing topics and writes their first records; returns how many."""
        admin = AdminClient({"bootstrap.servers": self._servers}, logger=QUIET)
        existing = admin.list_topics(timeout=_TIMEOUT_S).topics
        missing = [dataset for dataset in DATASETS if not set(dataset.topics) <= set(existing)]
        topics = [
            NewTopic(topic, PARTITIONS, 1) for dataset in missing for topic in dataset.topics if topic not in existing
        ]
        for name, created in (admin.create_topics(topics) if topics else {}).items():
            try:
                created.result(_TIMEOUT_S)
            except KafkaException as problem:
                raise explain(problem.args[0], name, self._servers) from problem
        written = 0
        for dataset in DATASETS:
            users, accounts = dataset.topics
            first = itertools.islice(self._accounts[dataset], self._rows - self._rows // 10)
            records = [(users, user) for user in dataset.users(self._rows)] + [(accounts, one) for one in first]
            if dataset in missing:
                for topic, record in records:
                    self._send(topic, record)
                written += len(records)
        self._producer.flush(_TIMEOUT_S)
        return written

    def __enter__(self) -> Self:
        if self._rate > 0:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._producer.purge()
        self._producer.flush(1)

    def _run(self) -> None:
        due = time.monotonic()
        for topic, record in self._changes():
            due = max(due + 1 / self._rate, time.monotonic() - 1)  # no burst after a suspend
            if self._stop.wait(max(0.0, due - time.monotonic())):
                return
            self._send(topic, record)

    def _changes(self) -> Iterator[tuple[str, Record]]:
        """Yields records of all datasets in turn."""
        for dataset in itertools.cycle(DATASETS):
            record = next(self._accounts[dataset], None)
            if record is None:
                return
            yield dataset.topics[1], record

    def _send(self, topic: str, record: Record) -> None:
        while True:
            try:
                self._producer.produce(topic, orjson.dumps(record), str(record["userId"]))
                break
            except BufferError:  # the producer's queue is full
                self._producer.poll(0.1)
        self._producer.poll(0)
