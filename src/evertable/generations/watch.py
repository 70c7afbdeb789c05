"""Polls the source topics of running generations and reports what happens to them, on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from evertable.changelog.backlog import partitions_with_records
from evertable.changelog.schema import Side, SourcePartition
from evertable.config import Config, Source
from evertable.errors import EvertableError, KafkaAccessError
from evertable.generations.source_events import (
    CONFIRMING_MISSES,
    ClusterEvent,
    EventKind,
    ObservedTopic,
    SourceHistory,
    WatchEvent,
)
from evertable.generations.stall import StallDetector
from evertable.kafka.admin import Admin
from evertable.kafka.errors import ErrorKind
from evertable.kafka.outages import WarningThrottle
from evertable.kafka.topics import describe
from evertable.state.identity import Identity, SourceIdentity

INTERVAL_S = 1.0
TIMEOUT_S = 3.0
_EARLIEST, _LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]

Positions = Callable[[], Mapping[SourcePartition, int]]
"""Returns the next offset to read of each source partition. Called on the watch's thread."""

log = structlog.get_logger()


class _Cluster:
    """One Kafka cluster, and how many polls of it have failed in a row."""

    def __init__(self, properties: Mapping[str, Any], timeout_s: float) -> None:
        self.properties = properties
        self.failed_polls = 0
        self.warnings = WarningThrottle()
        self._timeout_s = timeout_s
        self._admin = Admin(properties)

    @property
    def servers(self) -> str:
        return self._admin.servers

    def poll(self, topic: str) -> ObservedTopic | None:
        """Returns the topic as it is; None if it does not exist; raises an EvertableError if Kafka does not answer."""
        try:
            found = describe(self._admin, topic, self._timeout_s)
            partitions = [TopicPartition(topic, partition) for partition in found.partitions]
            begins, ends = self._offsets(partitions, _EARLIEST), self._offsets(partitions, _LATEST)
        except KafkaException as problem:
            if ErrorKind.of(problem.args[0]) is ErrorKind.MISSING:
                return None
            raise self._admin.explain(problem, topic) from problem
        self._admin.recovered()
        return ObservedTopic(found.id, begins, ends)

    def _offsets(self, partitions: Iterable[TopicPartition], spec: OffsetSpec) -> dict[int, int]:
        requested = dict.fromkeys(partitions, spec)
        # Committed: the records of a transaction that is still open cannot be read yet.
        answers = self._admin.ask(
            lambda client: client.list_offsets(
                requested, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._timeout_s
            ),
            self._timeout_s,
        )
        return {partition.partition: answer.result().offset for partition, answer in answers.items()}


@dataclass
class _Source:
    """A source of a watched generation, and its topic as the last poll found it."""

    cluster: _Cluster
    history: SourceHistory
    positions: Callable[[], dict[int, int]]
    found: ObservedTopic | None = None
    stalls: StallDetector = field(default_factory=StallDetector)
    is_stalled: bool = False
    empty: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For each partition, a range of offsets in which there is no record."""


class TopicWatch:
    """Reports each event of the topics that are read. Generations may be added and removed on any thread.

    ``on_event`` is called on the watch's thread. A cluster that does not answer two polls in a row is reported, again
    while that lasts or if the cause changes, and when it answers again; meanwhile its topics have no events.
    """

    def __init__(
        self, on_event: Callable[[WatchEvent], None], *, interval_s: float = INTERVAL_S, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._on_event = on_event
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._watched: dict[int, tuple[_Source, _Source]] = {}
        self._clusters: dict[frozenset[tuple[str, Any]], _Cluster] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evertable-topic-watch", daemon=True)

    def add(self, generation: int, config: Config, identity: Identity, positions: Positions) -> None:
        """Watches the topics of a generation that was built from ``config``, from the next poll on."""

        def source(side: Side, configured: Source, of: SourceIdentity) -> _Source:
            return _Source(
                self._cluster(config.source_kafka(configured).for_librdkafka()),
                SourceHistory(generation, configured.name, of.topic, of.topic_id, of.offsets),
                lambda: {partition: offset for (at, partition), offset in positions().items() if at == side},
            )

        with self._lock:
            left = source(Side.LEFT, config.left, identity.left)
            self._watched[generation] = left, source(Side.RIGHT, config.right, identity.right)

    def remove(self, generation: int) -> None:
        """Ends the watch of a generation; a poll under way may still report events."""
        with self._lock:
            self._watched.pop(generation, None)
            used = [source.cluster for sources in self._watched.values() for source in sources]
            self._clusters = {key: cluster for key, cluster in self._clusters.items() if cluster in used}

    def lag(self, generation: int) -> dict[tuple[str, int], int]:
        """Returns the lag of each source and partition, by the end that the last poll found, in offsets."""
        with self._lock:
            found = [(source, source.found) for source in self._watched.get(generation, ())]
        return {
            (source.history.source, partition): behind
            for source, observed in found
            if observed is not None
            for partition, behind in source.history.lag(observed, source.positions()).items()
        }

    def poll(self) -> None:
        """Polls all topics once and reports their events; the thread calls it again and again."""
        with self._lock:
            sources = [source for sources in self._watched.values() for source in sources]
        # Positions first: no end that is requested later can be before what was reached.
        positions = [source.positions() for source in sources]
        topics: dict[_Cluster, set[str]] = {}
        for source in sources:
            topics.setdefault(source.cluster, set()).add(source.history.topic)
        polled = {cluster: self._poll_cluster(cluster, names) for cluster, names in topics.items()}
        now = time.monotonic()
        for source, reached in zip(sources, positions, strict=True):
            if (found := polled[source.cluster]) is not None:
                topic = found[source.history.topic]
                source.found = topic or source.found
                for event in source.history.found(topic, reached) if topic else source.history.missing():
                    self._on_event(event)
                self._report_stall(source, now)
            elif source.cluster.failed_polls >= CONFIRMING_MISSES:
                source.stalls.suspect(now)
        for cluster, found in polled.items():  # after stalled sources: nothing may look live in between
            if found is not None and cluster.warnings.over():
                self._on_event(ClusterEvent(f"Kafka at {cluster.servers} answers again.", is_lost=False))

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout_s: float | None = None) -> None:
        """Ends the thread after the poll that may be under way, and waits for it for ``timeout_s`` at most."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._closing.wait(self._interval_s):
            try:
                self.poll()
            except Exception:  # a callback may fail; the next poll must still run
                log.exception("Polling the source topics failed; retrying")

    def _cluster(self, properties: Mapping[str, Any]) -> _Cluster:
        key = frozenset(properties.items())
        if key not in self._clusters:
            self._clusters[key] = _Cluster(properties, self._timeout_s)
        return self._clusters[key]

    def _report_stall(self, source: _Source, now: float) -> None:
        if source.found is None:
            return
        positions, history = source.positions(), source.history
        lag = history.lag(source.found, positions)
        begins = {partition: source.found.ends[partition] - behind for partition, behind in lag.items() if behind}
        ranges = {partition: (begin, source.found.ends[partition]) for partition, begin in begins.items()}
        waiting = [partition for partition, offsets in ranges.items() if source.empty.get(partition) != offsets]
        source.stalls.observe(now, positions, waiting)
        stalled = source.stalls.seconds(now)
        if stalled and not source.is_stalled:
            suspected = {partition: begins[partition] for partition in stalled}
            try:
                with_records = partitions_with_records(
                    source.cluster.properties, history.topic, suspected, source.found.ends, timeout_s=self._timeout_s
                )
            except EvertableError:
                return  # the next poll tries again
            source.empty |= {partition: ranges[partition] for partition in stalled.keys() - with_records}
            stalled = {partition: stalled[partition] for partition in with_records}
        if stalled:
            source.is_stalled = True
            behind, seconds = sum(lag[partition] for partition in stalled), max(stalled.values())
            what = f"has {behind:,} records to read; none was read for {seconds:.0f} s"
            self._on_event(history.event(EventKind.STALLED, what, stalled_s=seconds))
        elif source.is_stalled:
            source.is_stalled = False
            self._on_event(history.event(EventKind.RECOVERED, "is read again"))

    def _poll_cluster(self, cluster: _Cluster, topics: Iterable[str]) -> dict[str, ObservedTopic | None] | None:
        """Polls these topics of a cluster; returns None if it does not answer."""
        found: dict[str, ObservedTopic | None] = {}
        for topic in topics:
            try:
                found[topic] = cluster.poll(topic)
            except EvertableError as error:
                cluster.failed_polls += 1
                kind = str(error) if isinstance(error, KafkaAccessError) else error.condition
                if cluster.failed_polls >= CONFIRMING_MISSES and cluster.warnings.due(kind):
                    self._on_event(ClusterEvent(str(error), is_lost=True))
                return None
        cluster.failed_polls = 0
        return found
