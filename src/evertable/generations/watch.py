"""The topic watch: looks after the source topics of running generations, on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import structlog
from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import ListOffsetsResultInfo, OffsetSpec

from evertable.changelog.caught_up import SourcePartition
from evertable.changelog.schema import Side
from evertable.changelog.targets import partitions_with_records
from evertable.config import Config, Role, Source
from evertable.errors import EvertableError, KafkaAccessError
from evertable.generations.source_events import (
    MISSES,
    KafkaLost,
    KafkaRegained,
    Observed,
    Report,
    SourceHistory,
    SourceRecovered,
    SourceStalled,
)
from evertable.generations.stall import StallDetector
from evertable.kafka.admin import Admin
from evertable.kafka.errors import ErrorKind
from evertable.kafka.outages import WarningThrottle
from evertable.kafka.topics import describe, id_of
from evertable.state.identity import Identity, SourceIdentity

INTERVAL_S = 1.0
TIMEOUT_S = 3.0
_EARLIEST, _LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]

Positions = Callable[[], Mapping[SourcePartition, int]]
"""What is read next of each source partition, such as ``lambda: feed.positions``. Called on the watch's thread."""
Answers = dict[TopicPartition, Future[ListOffsetsResultInfo]]

log = structlog.get_logger()


class _Cluster:
    """Where topics are looked at, and how often in a row it did not answer."""

    def __init__(self, properties: Mapping[str, Any], timeout_s: float) -> None:
        self.servers = str(properties.get("bootstrap.servers", ""))
        self.missed = 0
        self.warnings = WarningThrottle()
        self._timeout_s = timeout_s
        self._admin = Admin(properties)

    def look(self, topic: str) -> Observed | None:
        """The topic as it is; None if there is none; KafkaException."""
        try:
            found = describe(self._admin, topic, self._timeout_s)
            partitions = [TopicPartition(topic, partition.id) for partition in found.partitions]
            begins, ends = self._ask(partitions, _EARLIEST), self._ask(partitions, _LATEST)
            seen = Observed(id_of(found), _offsets(begins), _offsets(ends))
            self._admin.recovered()
            return seen
        except KafkaException as problem:
            if ErrorKind.of(problem.args[0]) is ErrorKind.MISSING:
                return None
            raise

    def explain(self, problem: KafkaException, topic: str) -> EvertableError:
        """What keeps it from being looked at."""
        return self._admin.explain(problem, topic)

    def _ask(self, partitions: Iterable[TopicPartition], spec: OffsetSpec) -> Answers:
        asked = dict.fromkeys(partitions, spec)
        # Committed: the records of a transaction that is still open are not there to be read yet.
        answers: Answers = self._admin.client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._timeout_s
        )
        return answers


def _offsets(answers: Answers) -> dict[int, int]:
    return {partition.partition: answer.result().offset for partition, answer in answers.items()}


@dataclass
class _Source:
    """A source of a watched generation, and its topic as it was last found."""

    cluster: _Cluster
    history: SourceHistory
    positions: Callable[[], dict[int, int]]
    consumer: Mapping[str, Any]
    """Properties, to look for records that wait."""
    found: Observed | None = None
    standstill: StallDetector = field(default_factory=StallDetector)
    stands_still: bool = False
    empty: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For each partition, a begin and an end between which it was found to have no record."""


class TopicWatch:
    """Reports, once each, what happens to the topics that are read; any thread may tell it of generations.

    ``on_report`` is called on the watch's thread. A cluster that does not answer, twice, is reported, again if the
    cause is another one or it lasts, and when it does answer; meanwhile nothing is said about its topics.
    """

    def __init__(
        self, on_report: Callable[[Report], None], *, interval_s: float = INTERVAL_S, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._on_report = on_report
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._watched: dict[int, tuple[_Source, _Source]] = {}
        self._clusters: dict[frozenset[tuple[str, Any]], _Cluster] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evertable-watch", daemon=True)

    def add(self, generation: int, config: Config, identity: Identity, positions: Positions) -> None:
        """Watches the topics of a generation that was built from ``config``, from the next look on."""

        def source(side: Side, configured: Source, of: SourceIdentity) -> _Source:
            return _Source(
                self._cluster(config.source_kafka(configured).for_librdkafka(Role.ADMIN)),
                SourceHistory(generation, configured.name, of.topic, of.topic_id, of.offsets),
                lambda: {partition: offset for (at, partition), offset in positions().items() if at == side},
                config.source_kafka(configured).for_librdkafka(Role.CONSUMER),
            )

        with self._lock:
            left = source(Side.LEFT, config.left, identity.left)
            self._watched[generation] = left, source(Side.RIGHT, config.right, identity.right)

    def remove(self, generation: int) -> None:
        """Nothing more is reported about it; what is being looked at just now may still be."""
        with self._lock:
            self._watched.pop(generation, None)
            used = [source.cluster for sources in self._watched.values() for source in sources]
            self._clusters = {key: cluster for key, cluster in self._clusters.items() if cluster in used}

    def lag(self, generation: int) -> dict[tuple[str, int], int]:
        """For each source and partition, how far its position is from the end that was seen last, in offsets."""
        with self._lock:
            found = [(source, source.found) for source in self._watched.get(generation, ())]
        return {
            (source.history.source, partition): behind
            for source, observed in found
            if observed is not None
            for partition, behind in source.history.lag(observed, source.positions()).items()
        }

    def look(self) -> None:
        """Looks once at all topics, and reports; what the thread does again and again."""
        with self._lock:
            sources = [source for sources in self._watched.values() for source in sources]
        # Positions first: no end that is asked for later can be before what was reached.
        positions = [source.positions() for source in sources]
        topics: dict[_Cluster, set[str]] = {}
        for source in sources:
            topics.setdefault(source.cluster, set()).add(source.history.topic)
        seen = {cluster: self._look_at(cluster, names) for cluster, names in topics.items()}
        now = time.monotonic()
        for source, reached in zip(sources, positions, strict=True):
            if (found := seen[source.cluster]) is not None:
                self._tell(source, found[source.history.topic], reached)
                self._report_standstill(source, now)
            elif source.cluster.missed >= MISSES:
                source.standstill.suspect(now)
        for cluster, found in seen.items():  # behind what stands still: nothing may look live in between
            if found is not None and cluster.warnings.over():
                self._on_report(KafkaRegained(cluster.servers))

    def start(self) -> Self:
        self._thread.start()
        return self

    def close(self, timeout_s: float | None = None) -> None:
        """Ends the thread, when the look it may be at is over; waits so long at most."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while not self._closing.wait(self._interval_s):
            try:
                self.look()
            except Exception:  # whoever listens or tells positions may fail; the next look may not
                log.exception("watch_failed")

    def _cluster(self, properties: Mapping[str, Any]) -> _Cluster:
        key = frozenset(properties.items())
        if key not in self._clusters:
            self._clusters[key] = _Cluster(properties, self._timeout_s)
        return self._clusters[key]

    def _tell(self, source: _Source, found: Observed | None, positions: Mapping[int, int]) -> None:
        source.found = found or source.found
        history = source.history
        for change in history.missing() if found is None else history.found(found, positions):
            self._on_report(change)

    def _report_standstill(self, source: _Source, now: float) -> None:
        if source.found is None:
            return
        positions, history = source.positions(), source.history
        lag = history.lag(source.found, positions)
        begins = {partition: source.found.ends[partition] - behind for partition, behind in lag.items() if behind}
        places = {partition: (begin, source.found.ends[partition]) for partition, begin in begins.items()}
        waiting = [partition for partition, place in places.items() if source.empty.get(partition) != place]
        source.standstill.observe(now, positions, waiting)
        stood = source.standstill.seconds(now)
        if stood and not source.stands_still:
            asked = {partition: begins[partition] for partition in stood}
            try:
                with_records = partitions_with_records(
                    source.consumer, history.topic, asked, source.found.ends, timeout_s=self._timeout_s
                )
            except EvertableError:
                return  # the next look asks again
            source.empty |= {partition: places[partition] for partition in stood.keys() - with_records}
            stood = {partition: stood[partition] for partition in with_records}
        if stood:
            source.stands_still = True
            behind = sum(lag[partition] for partition in stood)
            self._on_report(
                SourceStalled(history.generation, history.source, history.topic, behind, max(stood.values()))
            )
        elif source.stands_still:
            source.stands_still = False
            self._on_report(SourceRecovered(history.generation, history.source, history.topic))

    def _look_at(self, cluster: _Cluster, topics: Iterable[str]) -> dict[str, Observed | None] | None:
        """All of these topics of a cluster; None if it does not tell."""
        found: dict[str, Observed | None] = {}
        for topic in topics:
            try:
                found[topic] = cluster.look(topic)
            except KafkaException as problem:
                cluster.missed += 1
                why = cluster.explain(problem, topic)
                kind = str(why) if isinstance(why, KafkaAccessError) else why.condition
                if cluster.missed >= MISSES and cluster.warnings.due(kind):
                    self._on_report(KafkaLost(cluster.servers, str(why)))
                return None
        cluster.missed = 0
        return found
