"""From configuration to a generation that can be started: look at the topics, make the changelog, say what to run."""

from __future__ import annotations

from dataclasses import dataclass

from evertable.changelog.caught_up import CaughtUp
from evertable.changelog.reader import ChangelogReader
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.changelog.targets import Extent, find_extents
from evertable.changelog.topics import ChangelogTopics, largest_message
from evertable.config import Config, Role, Source
from evertable.engine.spec import GenerationSpec, SourceSpec


@dataclass(frozen=True)
class Build:
    """A generation before its query is started."""

    spec: GenerationSpec
    schema: ChangelogSchema
    extents: tuple[dict[int, Extent], dict[int, Extent]]

    def caught_up(self) -> CaughtUp:
        """Tells when the changelog has shown what the topics held when the build began."""
        spans = {
            (side, partition): extent.span
            for side in Side
            for partition, extent in self.extents[side].items()
            if extent.span is not None
        }
        return CaughtUp(spans)

    def reader(self, config: Config) -> ChangelogReader:
        """Reads the generation's changelog from its beginning."""
        properties = config.changelog_kafka.for_librdkafka(Role.CONSUMER)
        return ChangelogReader(properties, self.spec.changelog_topic, self.schema)


def build(config: Config, generation: int, topics: ChangelogTopics, checkpoint: str) -> Build:
    """Looks at the sources' topics and makes the generation's changelog; raises if a topic is missing."""
    sources = (config.left, config.right)
    left, right = (_extents(config, source) for source in sources)
    largest = max(
        largest_message(config.source_kafka(source).for_librdkafka(Role.ADMIN), [source.topic]) for source in sources
    )
    changelog = topics.create(generation, largest)
    spec = GenerationSpec(
        generation=generation,
        left=_source_spec(config, config.left, left),
        right=_source_spec(config, config.right, right),
        join=config.join.type,
        changelog_topic=changelog.name,
        changelog_kafka=config.changelog_kafka.for_java(Role.PRODUCER),
        max_message_bytes=changelog.max_message_bytes,
        checkpoint=checkpoint,
        trigger=config.engine.trigger.value,
        interval_s=config.engine.interval_s,
    )
    return Build(spec, ChangelogSchema(config.left.columns, config.right.columns, config.join.type), (left, right))


def changelog_topics(config: Config) -> ChangelogTopics:
    """The changelogs of the configured app."""
    changelog = config.changelog
    return ChangelogTopics(
        config.changelog_kafka.for_librdkafka(Role.ADMIN),
        changelog.prefix,
        config.app,
        partitions=changelog.partitions,
        replication=changelog.replication,
    )


def _extents(config: Config, source: Source) -> dict[int, Extent]:
    return find_extents(config.source_kafka(source).for_librdkafka(Role.CONSUMER), source.topic, source.start)


def _source_spec(config: Config, source: Source, extents: dict[int, Extent]) -> SourceSpec:
    return SourceSpec(
        name=source.name,
        topic=source.topic,
        key=source.key,
        columns=source.columns,
        start={partition: extent.start for partition, extent in extents.items()},
        kafka=config.source_kafka(source).for_java(Role.CONSUMER),
    )
