"""The source topics of a run, their records, and the producer that keeps sending."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.chaos.schedule import LETTERS, SIDES
from tests.reference.histories import JUNK
from tests.reference.records import SourceRecord
from tests.serving.traffic import Flow
from tests.waiting import wait_until

PARTITIONS = 2
KEYS = 2_000
BAD = 0.1
WAIT_S = 120
Place = tuple[str, str]
"""A side and a letter."""


@dataclass(frozen=True)
class Recreation:
    """When a topic was deleted, and when it had records again; in seconds since 1970."""

    topic: str
    deleted: float
    filled: float


class Sources(Flow):
    """Three topics for each side, and a producer that sends to all of them, one record in ten being bad.

    Rows carry their topic's mark: its letter, and how often it was recreated.
    """

    def __init__(self, bootstrap: str, run: str, seed: int) -> None:
        # Not idempotent: such a producer cannot continue after a topic was recreated. The oracle reads the topics.
        super().__init__(bootstrap, seed, **{"message.timeout.ms": 120_000})
        self.names: dict[Place, str] = {(side, at): f"{run}-{side}-{at}" for side in SIDES for at in LETTERS}
        self.recreations: list[Recreation] = []
        self.taken = 0
        """Records that Kafka has acknowledged."""
        self._bootstrap = bootstrap
        self._recreated: Counter[Place] = Counter()
        self._under_way: Counter[Place] = Counter()
        self._closed: set[Place] = set()
        self._lock = threading.RLock()  # deliveries are reported on the thread that polls
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def mark(self, place: Place) -> str:
        return f"{place[1]}{self._recreated[place]}"

    def create(self, records: int) -> None:
        """Creates all topics, with that many records in each."""
        for place in self.names:
            self._make(place)
            self._fill(place, records)
        assert self._producer.flush(WAIT_S) == 0

    def recreate(self, place: Place, records: int) -> None:
        """Recreates a topic with other records, after all records for the old one were delivered."""
        topic = self.names[place]
        with self._lock:
            self._closed.add(place)
        wait_until(lambda: self._under_way[place] == 0, f"the last records for {topic}", WAIT_S)
        deleted = time.time()
        _retried(lambda: self._admin.delete_topics([topic])[topic].result(), lambda: not self._is_there(topic))
        self._recreated[place] += 1
        self._make(place)
        self._fill(place, records)
        wait_until(lambda: self._under_way[place] == 0, f"records in the new {topic}", WAIT_S)
        with self._lock:
            self._closed.discard(place)
        self.recreations.append(Recreation(topic, deleted, time.time()))

    def held(self, topic: str) -> list[SourceRecord]:
        """Reads all records of a topic with a plain consumer."""
        properties = {"bootstrap.servers": self._bootstrap, "group.id": "oracle", "enable.auto.commit": False}
        consumer = Consumer({**properties, "log_level": 0})
        try:
            places = [TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)]
            left = sum(consumer.get_watermark_offsets(place, timeout=30)[1] for place in places)
            consumer.assign(places)
            records: list[SourceRecord] = []
            while len(records) < left:
                for message in consumer.consume(1_000, timeout=0.2):
                    assert message.error() is None, message.error()
                    partition, offset, timestamp = message.partition(), message.offset(), message.timestamp()[1]
                    assert partition is not None
                    assert offset is not None
                    records.append(SourceRecord(partition, offset, timestamp, message.value()))
            return records
        finally:
            consumer.close()

    def _make(self, place: Place) -> None:
        topic = self.names[place]
        new = NewTopic(topic, PARTITIONS, 1)
        _retried(lambda: self._admin.create_topics([new])[topic].result(), lambda: self._is_there(topic))

    def _is_there(self, topic: str) -> bool:
        return topic in self._admin.list_topics(timeout=5).topics

    def _fill(self, place: Place, records: int) -> None:
        """Sends the first keys, so that any two topics have keys in common, and a bad record."""
        for number in range(records):
            self._send(place, f"u{number:04d}")
        self._produce(place, b"not json")

    def _send_one(self) -> None:
        place = self._random.choice(list(self.names))
        key = f"u{self._random.randrange(KEYS):04d}" if self._random.random() < 0.99 else None
        with self._lock:
            if place not in self._closed:
                self._send(place, key, bad=self._random.random() < BAD)

    def _send(self, place: Place, key: str | None, bad: bool = False) -> None:
        value: bytes | None
        if bad:
            value = self._random.choice(JUNK)
        elif place[0] == "users":
            name, age = f"{self.mark(place)} {self._random.randrange(10**6)}", self._random.randrange(90)
            value = json.dumps({"userId": key, "name": name, "age": age}).encode()
        else:
            balance = round(self._random.uniform(0, 1000), 2)
            value = json.dumps({"userId": key, "accountType": self.mark(place), "balance": balance}).encode()
        self._produce(place, value)

    def _produce(self, place: Place, value: bytes | None) -> None:
        def done(error: object, _: object) -> None:
            with self._lock:
                self._under_way[place] -= 1
                self.taken += error is None

        with self._lock:
            self._under_way[place] += 1
        self._producer.produce(self.names[place], value, timestamp=self.moved_time(), on_delivery=done)


def _retried(request: Callable[[], object], done: Callable[[], bool]) -> None:
    """Repeats a request until it took effect: Kafka may have just restarted."""

    def attempt() -> bool:
        with suppress(KafkaException):
            if done():
                return True
            request()
        return False

    wait_until(attempt, "a topic created or deleted", WAIT_S)


def wired(request: Mapping[str, str], names: Mapping[Place, str]) -> dict[str, str]:
    """Replaces the letters of a swap request of the schedule by the topics' names."""
    return {
        key: names[key.removesuffix("Topic"), value] if key.endswith("Topic") else value
        for key, value in request.items()
    }
