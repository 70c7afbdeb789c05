"""Ids and ends of a generation's topics, asked of Kafka."""

from __future__ import annotations

from typing import cast

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from evertable.background import run_concurrently
from evertable.changelog.resumption import ChangelogEnd
from evertable.config import Config, Role, Source
from evertable.errors import TopicNotFoundError
from evertable.kafka.admin import AdminPool
from evertable.kafka.topics import describe, id_of, topic_id


def topic_ids(
    config: Config, admins: AdminPool | None = None, *, timeout_s: float = 30.0
) -> tuple[str | None, str | None]:
    """The ids of the left and the right topic, asked for at once; None where the broker tells none.

    TopicNotFoundError names both if both are missing.
    """
    clients = admins or AdminPool()

    def ask(source: Source) -> str | TopicNotFoundError | None:
        admin = clients.of(config.source_kafka(source).for_librdkafka(Role.ADMIN))
        try:
            return topic_id(admin, source.topic, timeout_s=timeout_s)
        except TopicNotFoundError as error:
            return error

    left, right = run_concurrently(lambda: ask(config.left), lambda: ask(config.right))
    missing = {str(each): each for each in (left, right) if isinstance(each, TopicNotFoundError)}
    if missing:  # a topic may be both sides
        raise TopicNotFoundError.of([*missing.values()])
    return cast(tuple[str | None, str | None], (left, right))


def changelog_end(
    config: Config, topic: str, admins: AdminPool | None = None, *, timeout_s: float = 5.0
) -> ChangelogEnd:
    """The changelog's topic id and where it ends now; TopicNotFoundError, KafkaUnreachableError."""
    admin = (admins or AdminPool()).of(config.changelog_kafka.for_librdkafka(Role.ADMIN))
    try:
        found = describe(admin, topic, timeout_s)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(topic, partition.id): latest for partition in found.partitions}
        answers = admin.ask(lambda client: client.list_offsets(asked, request_timeout=timeout_s), timeout_s)
        ends = {partition.partition: answer.result().offset for partition, answer in answers.items()}
    except KafkaException as problem:
        raise admin.explain(problem, topic) from problem
    return ChangelogEnd(id_of(found), ends)
