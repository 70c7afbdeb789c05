"""Names, creates, lists and deletes changelog topics, with the settings of docs/CHANGELOG-FORMAT.md."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from evertable.errors import TopicExistsError, TopicNotFoundError
from evertable.kafka import topics
from evertable.kafka.admin import Admin
from evertable.kafka.consumer import GRACE_S
from evertable.kafka.errors import ErrorKind
from evertable.kafka.topics import TIMEOUT_S

log = logging.getLogger(__name__)

KAFKAS_MAX_MESSAGE_BYTES = 1_048_588
"""Kafka's default for ``max.message.bytes``."""

_MOST_BYTES = 2**31 - 1
_LOOK_AGAIN_S = 0.02


def topic_name(prefix: str, app: str, generation: int) -> str:
    """Returns the name of a generation's changelog, such as ``evertable.demo.g000007``."""
    if generation < 1:
        raise ValueError(f"generations are numbered from 1, not {generation}")
    return f"{prefix}.{app}.g{generation:06d}"


def generation_of(prefix: str, app: str, topic: str) -> int | None:
    """Returns the generation whose changelog this topic is; None if it is not a changelog of that app."""
    digits = topic.removeprefix(f"{prefix}.{app}.g")
    if not (digits.isascii() and digits.isdecimal() and int(digits) > 0):
        return None
    return int(digits) if topic == topic_name(prefix, app, int(digits)) else None


@dataclass(frozen=True)
class ChangelogTopic:
    """A changelog, and the largest message that it accepts (with key, headers and overhead)."""

    name: str
    max_message_bytes: int
    partitions: int


def largest_message(admin: Admin, topic: str, *, timeout_s: float = TIMEOUT_S) -> int:
    """Returns the largest message that a topic accepts; Kafka's default if reading it is not allowed.

    Raises TopicNotFoundError if the topic does not exist for ``GRACE_S``.
    """
    asked = ConfigResource(ResourceType.TOPIC, topic)
    deadline = time.monotonic() + GRACE_S
    while True:
        try:
            answers = admin.ask(lambda client: client.describe_configs([asked], request_timeout=timeout_s), timeout_s)
            return int(answers[asked].result()["max.message.bytes"].value)
        except KafkaException as problem:
            kind = ErrorKind.of(problem.args[0])
            if kind is ErrorKind.UNAUTHORIZED:
                log.warning("No right to read the settings of topic '%s'; assuming Kafka's defaults", topic)
                return KAFKAS_MAX_MESSAGE_BYTES
            if kind is not ErrorKind.MISSING or time.monotonic() >= deadline:
                raise admin.explain(problem, topic, "DescribeConfigs") from problem
        time.sleep(_LOOK_AGAIN_S)


def _limit(largest_source_message: int) -> int:
    return min(2 * max(largest_source_message, KAFKAS_MAX_MESSAGE_BYTES), _MOST_BYTES)


class ChangelogTopics:
    """The changelog topics of one app.

    Hours may pass between two calls, and firewalls silently drop idle connections, so each call creates an admin client
    unless it is passed one. Topics are described, as listing them by name could create them.
    """

    def __init__(
        self,
        properties: Mapping[str, Any],
        prefix: str,
        app: str,
        *,
        partitions: int = 1,
        replication: int = 1,
    ) -> None:
        self.prefix = prefix
        self.app = app
        self._partitions = partitions
        self._replication = replication
        self._properties = properties

    def create(
        self,
        generation: int,
        largest_source_message: int,
        admin: Admin | None = None,
        *,
        may_exist: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> ChangelogTopic:
        """Creates the changelog of a generation and waits until it can be used.

        ``may_exist``: an earlier attempt timed out and may have created it.
        """
        admin = admin or Admin(self._properties)
        limit = _limit(largest_source_message)
        settings = {
            "cleanup.policy": "delete",
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "max.message.bytes": str(limit),
        }
        name = topic_name(self.prefix, self.app, generation)
        try:
            topics.create(admin, name, self._partitions, self._replication, settings, timeout_s)
        except TopicExistsError:
            if not may_exist:
                raise
            topics.await_partitions(admin, name, self._partitions, timeout_s)
        return ChangelogTopic(name, limit, self._partitions)

    def find(
        self,
        generation: int,
        largest_source_message: int,
        admin: Admin | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> ChangelogTopic:
        """Returns the existing changelog of a generation; raises TopicNotFoundError if it was deleted."""
        name = topic_name(self.prefix, self.app, generation)
        try:
            found = topics.find(admin or Admin(self._properties), name, timeout_s=timeout_s)
        except TopicNotFoundError as error:
            raise TopicNotFoundError(f"The changelog '{name}' is gone.", "Its generation is rebuilt.") from error
        return ChangelogTopic(name, _limit(largest_source_message), len(found.partitions))

    def delete(self, generation: int) -> None:
        """Deletes the changelog of a generation, if there is one, and waits until it does not exist.

        Its query must have ended and its producer be closed: if brokers create topics automatically, a late producer
        would recreate it.
        """
        topics.delete(Admin(self._properties), topic_name(self.prefix, self.app, generation))

    def list(self) -> dict[int, str]:
        """The changelogs there are, by generation."""
        names = topics.topic_names(self._properties, timeout_s=TIMEOUT_S)
        found = {generation_of(self.prefix, self.app, name): name for name in names}
        return {generation: found[generation] for generation in sorted(filter(None, found))}
