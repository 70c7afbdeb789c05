"""A generation on the real stack: its own topics, a Spark query, and all changes of its changelog."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from confluent_kafka import Producer
from tests.processes import children
from tests.waiting import PATIENCE_S

from evertable.changelog.changes import Changes
from evertable.changelog.ids import partition_and_offset
from evertable.changelog.positions import SourcePositions
from evertable.changelog.reader import ChangelogReader
from evertable.changelog.schema import Side
from evertable.config import Config, JoinType
from evertable.engine.process import Engine
from evertable.engine.protocol import EngineEvent, EpochCommitted
from evertable.generations.build import Build, build, changelog_topics

USERS = {"userId": "string", "name": "string", "age": "long"}
ACCOUNTS = {"userId": "string", "accountType": "string", "balance": "double"}

Place = tuple[int, int, int]
"""Side, partition and offset of a source record."""


class Sent(NamedTuple):
    """A record to send."""

    side: Side
    value: bytes | None
    partition: int = 0
    timestamp: int = 1_700_000_000_000
    key: bytes | None = None


@dataclass
class Generation:
    """One generation, from build to deletion; use as a context manager."""

    config: Config
    number: int
    engine: Engine
    checkpoint: Path
    changes: list[Changes] = field(default_factory=list)
    seen: set[Place] = field(default_factory=set)
    sent: dict[Place, Sent] = field(default_factory=dict)
    positions: SourcePositions = field(default_factory=SourcePositions)
    _built: Build | None = None
    _reader: ChangelogReader | None = None

    @property
    def built(self) -> Build:
        assert self._built is not None, "not built yet"
        return self._built

    @property
    def reader(self) -> ChangelogReader:
        assert self._reader is not None, "not built yet"
        return self._reader

    def __enter__(self) -> Self:
        return self

    def build(self) -> Self:
        """Creates what the query needs, without starting it."""
        self._built = build(self.config, self.number, changelog_topics(self.config), str(self.checkpoint))
        self._reader = self._built.reader(self.config)
        return self

    def start(self) -> Self:
        """Builds the generation and starts its query."""
        self.engine.start(self.build().built.spec)
        return self

    def send(self, records: Iterable[Sent]) -> list[Place]:
        """Sends the records in order and waits until Kafka has them; returns where they are."""
        servers = self.config.kafka.for_librdkafka()["bootstrap.servers"]
        # Compressed, a record may be larger than its topic's limit.
        producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,  # or a retry, usual on a new topic, changes the order of records
                "compression.type": "gzip",
                "message.max.bytes": 10_000_000,
            }
        )
        places: list[Place] = []

        def delivered(record: Sent) -> Callable[[Any, Any], None]:
            def note(error: Any, message: Any) -> None:
                assert error is None, error
                place = (int(record.side), message.partition(), message.offset())
                self.sent[place] = record
                places.append(place)

            return note

        for record in records:
            topic = (self.config.left if record.side is Side.LEFT else self.config.right).topic
            producer.produce(
                topic,
                record.value,
                record.key,
                record.partition,
                timestamp=record.timestamp,
                on_delivery=delivered(record),
            )
            producer.poll(0)
        assert producer.flush(60) == 0, "Kafka did not take all records"
        return places

    def read(self) -> Self:
        """Reads the changelog until every sent record is in it, and then until no more changes come."""
        self.read_until(lambda: self.seen >= self.sent.keys())
        while self._poll(0.3):  # further matches of rows already seen
            pass
        return self

    def read_until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            self._poll(0.2)
            assert time.monotonic() < deadline, (
                f"missing after {PATIENCE_S} s: {sorted(self.sent.keys() - self.seen)[:9]}"
            )

    @property
    def rejects(self) -> dict[Place, str]:
        """The reason of each rejected record."""
        return {
            (row["side"], row["partition"], row["offset"]): row["reason"]
            for changes in self.changes
            for row in changes.rejects.to_pylist()
        }

    def rows(self, side: Side) -> dict[Place, dict[str, Any]]:
        """The columns of each row of a side."""
        found = {}
        for changes in self.changes:
            for row in changes.rows[side].to_pylist():
                partition, offset = partition_and_offset(row.pop("_id"))
                row.pop("_ts")
                found[int(side), partition, offset] = row
        return found

    def _poll(self, timeout_s: float) -> bool:
        changes = self.reader.poll(timeout_s)
        if changes is None:
            return False
        self.changes.append(changes)
        self.positions.add(changes)
        for side in Side:
            partitions, offsets = partition_and_offset(changes.rows[side].column(0).to_numpy())
            self.seen.update((int(side), p, o) for p, o in zip(partitions.tolist(), offsets.tolist(), strict=True))
        self.seen.update((r["side"], r["partition"], r["offset"]) for r in changes.rejects.to_pylist())
        return True

    def __exit__(self, *_: object) -> None:
        if self._reader is not None:
            self._reader.close()
        self.engine.stop(self.number)
        if self._built is not None:
            assert self.engine.wait_released(self.number)
            changelog_topics(self.config).delete(self.number)


def config(
    bootstrap: str,
    left_topic: str,
    right_topic: str,
    join: JoinType,
    trigger: str = "realtime",
    left: Mapping[str, Any] = USERS,
    right: Mapping[str, Any] = ACCOUNTS,
    key: str = "userId",
) -> Config:
    return Config.model_validate(
        {
            "app": "test",
            "kafka": {"bootstrap.servers": bootstrap},
            "sources": {
                "users": {"topic": left_topic, "key": key, "columns": left},
                "accounts": {"topic": right_topic, "key": key, "columns": right},
            },
            "join": {"type": join.value},
            "engine": {"trigger": trigger, **({"interval_s": 5} if trigger == "realtime" else {})},
        }
    )


def have_committed(events: Iterable[EngineEvent], generations: Iterable[Generation]) -> bool:
    """Returns whether each generation has committed an epoch with records."""
    commits = [event for event in events if isinstance(event, EpochCommitted)]
    found = {event.generation for event in commits if any((*event.left.values(), *event.right.values()))}
    return found >= {generation.number for generation in generations}


def slowly(records: Iterable[Sent]) -> Iterator[Sent]:
    """Pauses now and then, so that a crash falls between records."""
    pause = threading.Event()
    for i, record in enumerate(records):
        yield record
        if i % 20 == 0:
            pause.wait(0.05)


def spark_jvm(engine: Engine) -> int:
    """Returns the JVM that the engine's child process has started."""
    assert engine.pid is not None
    (jvm,) = children(engine.pid)
    return jvm
