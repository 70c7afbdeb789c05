"""Records that flow while a test does something else."""

from __future__ import annotations

import json
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from confluent_kafka import KafkaError, Message, Producer
from tests.reference.joins import Row

TICK_S = 0.02
MOVED_MS = 5_000
"""Timestamps are up to this much too old, so that the newest record is not always the last one."""

Pair = tuple[str, str]


class Flow(ABC):
    """Sends records at a steady rate, on a thread, from ``with`` until ``pause``."""

    def __init__(self, bootstrap: str, seed: int = 7, **properties: Any) -> None:
        self._random = random.Random(seed)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0, **properties})
        self._pausing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test-traffic", daemon=True)

    @abstractmethod
    def _send_one(self) -> None: ...

    def flow(self, per_second: int) -> Self:
        self._rate = per_second
        return self

    def pause(self) -> None:
        """Stops, and waits until every record was delivered or has failed."""
        self._pausing.set()
        self._thread.join()
        assert self._producer.flush(60) == 0

    def moved_time(self) -> int:
        """Returns a timestamp of about now."""
        return int(time.time() * 1000) - self._random.randrange(MOVED_MS)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pausing.set()
        self._thread.join()

    def _run(self) -> None:
        begin, done = time.monotonic(), 0
        while not self._pausing.wait(TICK_S):
            due = int((time.monotonic() - begin) * self._rate)
            for _ in range(min(due - done, self._rate)):  # after a stall, not all at once
                self._send_one()
            done = due
            self._producer.poll(0)


class Traffic(Flow):
    """Users and accounts for pairs of topics. Each record carries the mark of its pair; some have no key.

    ``sent`` are the acknowledged records, by topic, as rows for the reference.
    """

    def __init__(self, bootstrap: str, pairs: Mapping[str, Pair], keys: int = 1_000) -> None:
        super().__init__(bootstrap, **{"enable.idempotence": True})
        self.sent: dict[str, list[Row]] = {topic: [] for pair in pairs.values() for topic in pair}
        self.failures: list[str] = []
        self._pairs = pairs
        self._keys = keys

    @property
    def count(self) -> int:
        return sum(map(len, self.sent.values()))

    def send(self, records: int) -> None:
        """Sends that many, evenly on all topics, and waits until they are delivered."""
        for _ in range(records):
            self._send_one()
        assert self._producer.flush(60) == 0

    def pause(self) -> None:
        super().pause()
        assert not self.failures

    def _send_one(self) -> None:
        mark = self._random.choice(list(self._pairs))
        users, accounts = self._pairs[mark]
        number = self._random.randrange(self._keys)
        key = f"u{number:04d}" if self._random.random() < 0.99 else None
        if self._random.random() < 0.5:
            self._produce(users, key, {"userId": key, "name": f"{mark} {number}", "age": number % 90})
        else:
            balance = round(self._random.uniform(0, 1000), 2)
            self._produce(accounts, key, {"userId": key, "accountType": mark, "balance": balance})

    def _produce(self, topic: str, key: str | None, value: Mapping[str, Any]) -> None:
        def taken(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failures.append(error.str())
                return
            partition, offset, timestamp = message.partition(), message.offset(), message.timestamp()[1]
            assert partition is not None
            assert offset is not None
            self.sent[topic].append(Row(partition, offset, timestamp, key, tuple(value.values())))

        self._producer.produce(topic, json.dumps(value), timestamp=self.moved_time(), on_delivery=taken)
