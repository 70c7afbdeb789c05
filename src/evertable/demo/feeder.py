"""Fills the demo's topics, and then goes on: a balance moves, now and then somebody new comes, in every world."""

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

from evertable.demo.worlds import WORLDS, Record
from evertable.kafka.errors import QUIET, explain

PARTITIONS = 2
_TIMEOUT_S = 30.0


class Feeder:
    """The one who writes to the sample topics; as a context manager, for as long as the block runs."""

    def __init__(self, servers: str, rows: int, rate: float) -> None:
        self._servers = servers
        self._rows = rows
        self._rate = rate
        self._producer = Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5}, logger=QUIET
        )
        self._accounts = {world: world.accounts(rows, random.Random(world.number)) for world in WORLDS}  # noqa: S311
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="demo-feeder", daemon=True)

    def fill(self) -> int:
        """Makes the topics and writes the first rows, unless an earlier demo has; the number of records written."""
        admin = AdminClient({"bootstrap.servers": self._servers}, logger=QUIET)
        there = admin.list_topics(timeout=_TIMEOUT_S).topics
        missing = [world for world in WORLDS if not set(world.topics) <= set(there)]
        topics = [NewTopic(topic, PARTITIONS, 1) for world in missing for topic in world.topics if topic not in there]
        for name, answer in (admin.create_topics(topics) if topics else {}).items():
            try:
                answer.result(_TIMEOUT_S)
            except KafkaException as problem:
                raise explain(problem.args[0], name, self._servers) from problem
        written = 0
        for world in WORLDS:
            users, accounts = world.topics
            first = itertools.islice(self._accounts[world], self._rows - self._rows // 10)
            records = [(users, user) for user in world.users(self._rows)] + [(accounts, one) for one in first]
            if world in missing:
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
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._producer.purge()
        self._producer.flush(1)

    def _go_on(self) -> None:
        due = time.monotonic()
        for topic, record in self._moves():
            due = max(due + 1 / self._rate, time.monotonic() - 1)  # after a pause of the machine, no burst
            if self._ending.wait(max(0.0, due - time.monotonic())):
                return
            self._send(topic, record)

    def _moves(self) -> Iterator[tuple[str, Record]]:
        """The worlds in turn."""
        for world in itertools.cycle(WORLDS):
            record = next(self._accounts[world], None)
            if record is None:
                return
            yield world.topics[1], record

    def _send(self, topic: str, record: Record) -> None:
        while True:
            try:
                self._producer.produce(topic, orjson.dumps(record), str(record["userId"]))
                break
            except BufferError:  # Kafka takes them more slowly than we make them
                self._producer.poll(0.1)
        self._producer.poll(0)
