"""Prepares a generation's query: inspects the source topics and creates the changelog, or finds it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass

from evertable.background import run_concurrently, run_in_background
from evertable.changelog.backlog import PartitionBacklog, find_backlog
from evertable.changelog.positions import Backlog
from evertable.changelog.reader import ChangelogReader
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.changelog.topics import ChangelogTopic, ChangelogTopics, largest_message
from evertable.config import Config, Source, Start
from evertable.engine.spec import GenerationSpec, SourceSpec
from evertable.kafka.admin import AdminPool

TIMEOUT_S = 30.0

Extents = dict[int, PartitionBacklog]
StartOffsets = tuple[Mapping[int, int], Mapping[int, int]]
"""For each side, the first offset of each partition that belongs to the generation."""


@dataclass(frozen=True)
class Build:
    """What is needed to start a generation's query and to read its changelog."""

    spec: GenerationSpec
    schema: ChangelogSchema
    extents: tuple[Extents, Extents]
    changelog_partitions: int

    @property
    def backlog(self) -> Backlog:
        """What the tables must hold before the generation is shown."""
        extents = {
            (side, partition): extent
            for side in Side
            for partition, extent in self.extents[side].items()
            if extent.end > extent.start
        }
        begins = {place: extent.start for place, extent in extents.items()}
        return Backlog(begins, {place: extent.end for place, extent in extents.items()})

    def reader(self, config: Config) -> ChangelogReader:
        """Returns a reader of the generation's changelog from its beginning."""
        properties = config.changelog_kafka.for_librdkafka()
        topic = self.spec.changelog_topic
        return ChangelogReader(properties, topic, self.schema, partitions=self.changelog_partitions)


def build(
    config: Config,
    generation: int,
    topics: ChangelogTopics,
    checkpoint: str,
    *,
    throttle_s: float = 0.0,
    is_eager: bool = False,
    admins: AdminPool | None = None,
    may_exist: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Build:
    """Inspects the sources' topics and creates the generation's changelog; raises if a topic is missing.

    For ``throttle_s``, the query reads the backlog slowly enough to leave resources to others. With ``is_eager``, the
    generation goes live before the backlog is read. With ``may_exist``, an earlier attempt may have created the
    changelog.
    """
    clients = admins or AdminPool()

    def create() -> ChangelogTopic:
        admin = clients.of(config.changelog_kafka.for_librdkafka())
        largest = _largest_message(config, clients, timeout_s)
        return topics.create(generation, largest, admin, may_exist=may_exist, timeout_s=timeout_s)

    creating = run_in_background(create)
    extents = _both_extents(config, config.left.start, config.right.start, creating, timeout_s)
    return _built(config, generation, creating.result(), checkpoint, extents, throttle_s, is_eager=is_eager)


def resume(
    config: Config,
    generation: int,
    topics: ChangelogTopics,
    checkpoint: str,
    starts: StartOffsets,
    *,
    admins: AdminPool | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Build:
    """Prepares a generation that was built before, from the same offsets; its changelog must still exist."""
    clients = admins or AdminPool()

    def find() -> ChangelogTopic:
        admin = clients.of(config.changelog_kafka.for_librdkafka())
        return topics.find(generation, _largest_message(config, clients, timeout_s), admin, timeout_s=timeout_s)

    finding = run_in_background(find)
    found = _both_extents(config, Start.EARLIEST, Start.EARLIEST, finding, timeout_s)
    left, right = (
        {partition: extent.from_offset(start.get(partition, 0)) for partition, extent in extents.items()}
        for extents, start in zip(found, starts, strict=True)
    )
    return _built(config, generation, finding.result(), checkpoint, (left, right))


def _built(
    config: Config,
    generation: int,
    changelog: ChangelogTopic,
    checkpoint: str,
    extents: tuple[Extents, Extents],
    throttle_s: float = 0.0,
    *,
    is_eager: bool = False,
) -> Build:
    left, right = (
        _source_spec(config, source, found) for source, found in zip((config.left, config.right), extents, strict=True)
    )
    spec = GenerationSpec(
        generation=generation,
        left=left,
        right=right,
        join=config.join.type,
        changelog_topic=changelog.name,
        changelog_kafka=config.changelog_kafka.for_java(),
        max_message_bytes=changelog.max_message_bytes,
        checkpoint=checkpoint,
        trigger=config.engine.trigger.value,
        interval_s=config.engine.interval_s,
        readers=config.engine.readers,
        max_matches=config.join.max_matches,
        is_eager=is_eager,
        throttled_until_ms=round((time.time() + throttle_s) * 1000) if throttle_s else 0,
    )
    schema = ChangelogSchema(config.left.columns, config.right.columns, config.join.type)
    return Build(spec, schema, extents, changelog.partitions)


def changelog_topics(config: Config) -> ChangelogTopics:
    """Returns the changelogs of the configured app."""
    changelog = config.changelog
    return ChangelogTopics(
        config.changelog_kafka.for_librdkafka(),
        changelog.prefix,
        config.app,
        partitions=changelog.partitions,
        replication=changelog.replication,
    )


def _largest_message(config: Config, admins: AdminPool, timeout_s: float) -> int:
    """Returns the size of the largest message that either source topic may hold."""

    def request(source: Source) -> int:
        admin = admins.of(config.source_kafka(source).for_librdkafka())
        return largest_message(admin, source.topic, timeout_s=timeout_s)

    return max(run_concurrently(lambda: request(config.left), lambda: request(config.right)))


def _both_extents(
    config: Config, left: Start, right: Start, concurrent: Future[ChangelogTopic], timeout_s: float
) -> tuple[Extents, Extents]:
    """Reads the extents of both topics concurrently; returns or raises only when ``concurrent`` is done, too."""

    def find(source: Source, start: Start) -> Extents:
        properties = config.source_kafka(source).for_librdkafka()
        return find_backlog(properties, source.topic, start, timeout_s=timeout_s)

    try:
        found_left, found_right = run_concurrently(lambda: find(config.left, left), lambda: find(config.right, right))
    finally:
        wait([concurrent])
    return found_left, found_right


def _source_spec(config: Config, source: Source, extents: Extents) -> SourceSpec:
    return SourceSpec(
        name=source.name,
        topic=source.topic,
        key=source.key,
        columns=source.columns,
        start={partition: extent.start for partition, extent in extents.items()},
        kafka=config.source_kafka(source).for_java(),
        max_ahead_ms=source.max_ahead_s * 1000,
        backlog_ends={partition: extent.end for partition, extent in extents.items() if extent.end > extent.start},
    )
