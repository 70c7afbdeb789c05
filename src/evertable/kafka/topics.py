"""Looks up, creates, deletes and lists topics. No lookup creates a topic, whatever the broker's settings are."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, Uuid
from confluent_kafka.admin import NewTopic, TopicDescription

from evertable.errors import KafkaUnreachableError, NotEnoughBrokersError, TopicExistsError, TopicNotFoundError
from evertable.kafka.admin import Admin
from evertable.kafka.consumer import GRACE_S
from evertable.kafka.errors import ErrorKind

TIMEOUT_S = 30.0

_NO_ID = str(Uuid(0, 0))  # from brokers older than 2.8
_POLL_S = 0.02

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Topic:
    """A topic as it is now; its id changes when it is deleted and recreated (None: the broker has no ids)."""

    id: str | None
    partitions: tuple[int, ...]


def find(admin: Admin, topic: str, *, timeout_s: float = TIMEOUT_S, grace_s: float = 0.0) -> Topic:
    """Returns a topic; TopicNotFoundError if it is missing for ``grace_s``, KafkaUnreachableError."""
    deadline = time.monotonic() + grace_s
    while True:
        try:
            found = describe(admin, topic, timeout_s)
        except KafkaException as problem:
            if not _is_missing(problem) or time.monotonic() >= deadline:
                raise admin.explain(problem, topic) from problem
        else:
            admin.recovered()
            return found
        time.sleep(_POLL_S)


def topic_id(admin: Admin, topic: str, *, timeout_s: float = TIMEOUT_S, grace_s: float = GRACE_S) -> str | None:
    """Returns the id of a topic; TopicNotFoundError if it is missing for ``grace_s``."""
    return find(admin, topic, timeout_s=timeout_s, grace_s=grace_s).id


def topic_names(properties: Mapping[str, Any], *, timeout_s: float) -> list[str]:
    """Lists all topics that this user may see; KafkaUnreachableError."""
    admin = Admin(properties)
    try:
        return list(admin.client.list_topics(timeout=timeout_s).topics)
    except KafkaException as problem:
        raise admin.explain(problem, "") from problem


def create(
    admin: Admin, topic: str, partitions: int, replication: int, settings: Mapping[str, str], timeout_s: float
) -> None:
    """Creates a topic and waits until brokers show it; TopicExistsError, NotEnoughBrokersError, KafkaUnreachableError.

    A ``replication`` of -1 is the broker's choice.
    """
    new = NewTopic(topic, partitions, replication, config=dict(settings))
    try:
        admin.ask(lambda client: client.create_topics([new], request_timeout=timeout_s), timeout_s)[topic].result()
    except KafkaException as problem:
        error: KafkaError = problem.args[0]
        if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            raise TopicExistsError(f"The topic '{topic}' exists already.") from problem
        if error.code() == KafkaError.INVALID_REPLICATION_FACTOR and replication > 0:
            raise NotEnoughBrokersError(topic, replication, error.str()) from problem
        raise admin.explain(problem, topic, "Create") from problem
    await_partitions(admin, topic, partitions, timeout_s)


def create_unless_there(
    admin: Admin, topic: str, replication: int, settings: Mapping[str, str], timeout_s: float
) -> Topic:
    """Creates a topic with one partition, unless somebody else does so at the same time, and returns it."""
    with suppress(TopicExistsError):
        create(admin, topic, 1, replication, settings, timeout_s)
        log.info("Created the topic '%s'", topic)
    return find(admin, topic, timeout_s=timeout_s, grace_s=max(GRACE_S, timeout_s))


def delete(admin: Admin, topic: str, timeout_s: float = TIMEOUT_S) -> None:
    """Deletes a topic, if it exists, and waits until brokers no longer show it; KafkaUnreachableError."""
    try:
        admin.ask(lambda client: client.delete_topics([topic], request_timeout=timeout_s), timeout_s)[topic].result()
    except KafkaException as problem:
        if not _is_missing(problem):
            raise admin.explain(problem, topic, "Delete") from problem
    await_partitions(admin, topic, 0, timeout_s)


def await_partitions(admin: Admin, topic: str, partitions: int, timeout_s: float) -> None:
    """Waits until brokers, which learn of changes late, show a topic with so many partitions; 0: no topic."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            count = len(find(admin, topic, timeout_s=timeout_s).partitions)
        except TopicNotFoundError:
            count = 0
        if count == partitions:
            return
        if time.monotonic() > deadline:
            raise KafkaUnreachableError(
                f"Kafka at {admin.servers} still does not show '{topic}' with {partitions} partitions.",
                "Check that all brokers are up.",
            )
        time.sleep(_POLL_S)


def describe(admin: Admin, topic: str, timeout_s: float) -> Topic:
    """Returns a topic as it is now; KafkaException."""
    topics = TopicCollection([topic])
    answers = admin.ask(lambda client: client.describe_topics(topics, request_timeout=timeout_s), timeout_s)
    found: TopicDescription = answers[topic].result()
    known_id = None if found.topic_id is None or str(found.topic_id) == _NO_ID else str(found.topic_id)
    return Topic(known_id, tuple(sorted(partition.id for partition in found.partitions)))


def _is_missing(problem: KafkaException) -> bool:
    return ErrorKind.of(problem.args[0]) is ErrorKind.MISSING
