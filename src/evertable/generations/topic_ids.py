"""The ids that Kafka gives to topics: another one after a topic was deleted and made again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, cast

from confluent_kafka import KafkaException, TopicCollection, TopicPartition, Uuid
from confluent_kafka.admin import OffsetSpec, TopicDescription

from evertable.changelog.kafka import GRACE_S
from evertable.changelog.resumption import ChangelogEnd
from evertable.changelog.trouble import MISSING, Admin, Admins
from evertable.config import Config, Role, Source
from evertable.errors import TopicNotFoundError
from evertable.generations.ending import concurrently

_NONE = str(Uuid(0, 0))  # from a broker that is older than ids (2.8)
_ASK_AGAIN_S = 0.05


def topic_ids(
    config: Config, admins: Admins | None = None, *, timeout_s: float = 30.0
) -> tuple[str | None, str | None]:
    """The ids of the left and the right topic, asked for at once; None where the broker tells none.

    TopicNotFoundError names both if both are missing.
    """
    clients = admins or Admins()

    def ask(source: Source) -> str | TopicNotFoundError | None:
        admin = clients.of(config.source_kafka(source).for_librdkafka(Role.ADMIN))
        try:
            return topic_id(admin, source.topic, timeout_s=timeout_s)
        except TopicNotFoundError as error:
            return error

    left, right = concurrently(lambda: ask(config.left), lambda: ask(config.right))
    missing = {str(each): each for each in (left, right) if isinstance(each, TopicNotFoundError)}
    if missing:  # a topic may be both sides
        raise TopicNotFoundError.of([*missing.values()])
    return cast(tuple[str | None, str | None], (left, right))


def topic_id(admin: Admin, topic: str, *, timeout_s: float = 30.0, grace_s: float = GRACE_S) -> str | None:
    """The id of one topic; TopicNotFoundError if there is none for ``grace_s``, and none is made by asking."""
    deadline = time.monotonic() + grace_s
    while True:
        try:
            return id_of(describe(admin, topic, timeout_s))
        except KafkaException as problem:
            if problem.args[0].code() not in MISSING or time.monotonic() >= deadline:
                raise admin.explain(problem, topic) from problem
        time.sleep(_ASK_AGAIN_S)


def changelog_end(config: Config, topic: str, admins: Admins | None = None, *, timeout_s: float = 5.0) -> ChangelogEnd:
    """The changelog's topic id and where it ends now; TopicNotFoundError, KafkaUnreachableError."""
    admin = (admins or Admins()).of(config.changelog_kafka.for_librdkafka(Role.ADMIN))
    try:
        found = describe(admin, topic, timeout_s)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(topic, partition.id): latest for partition in found.partitions}
        answers = admin.client.list_offsets(asked, request_timeout=timeout_s)
        ends = {partition.partition: answer.result().offset for partition, answer in answers.items()}
    except KafkaException as problem:
        raise admin.explain(problem, topic) from problem
    return ChangelogEnd(id_of(found), ends)


def topic_names(properties: Mapping[str, Any], *, timeout_s: float) -> list[str]:
    """Of all topics that may be seen; KafkaUnreachableError."""
    admin = Admin(properties)
    try:
        return list(admin.client.list_topics(timeout=timeout_s).topics)
    except KafkaException as problem:
        raise admin.explain(problem, "") from problem


def describe(admin: Admin, topic: str, timeout_s: float) -> TopicDescription:
    """What Kafka says of a topic just now; KafkaException."""
    asked = admin.client.describe_topics(TopicCollection([topic]), request_timeout=timeout_s)[topic]
    found: TopicDescription = asked.result()
    return found


def id_of(found: TopicDescription) -> str | None:
    """The id of a topic that was described."""
    return None if str(found.topic_id) == _NONE else str(found.topic_id)
