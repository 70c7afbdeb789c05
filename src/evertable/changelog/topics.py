"""Changelog topics: made, listed and deleted with the settings of docs/CHANGELOG-FORMAT.md."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from evertable.changelog.names import generation_of, topic_name
from evertable.errors import TopicExistsError, TopicNotFoundError
from evertable.kafka import topics
from evertable.kafka.admin import Admin
from evertable.kafka.consumer import GRACE_S
from evertable.kafka.errors import ErrorKind
from evertable.kafka.topics import TIMEOUT_S

log = logging.getLogger(__name__)

KAFKAS_MAX_MESSAGE_BYTES = 1_048_588
"""What a topic takes unless it says otherwise."""

_MOST_BYTES = 2**31 - 1
_LOOK_AGAIN_S = 0.02


@dataclass(frozen=True)
class ChangelogTopic:
    """A changelog that was made, and the largest message that it takes (all counted, not only the value)."""

    name: str
    max_message_bytes: int
    partitions: int


def largest_message(
    admin: Admin, topics: Iterable[str], *, timeout_s: float = TIMEOUT_S, grace_s: float = GRACE_S
) -> int:
    """The largest message that any of these topics takes; Kafka's default where reading its settings is not allowed.

    TopicNotFoundError if one is missing for ``grace_s``.
    """
    deadline = time.monotonic() + grace_s
    asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    while True:
        try:
            return _largest_message(admin, asked, timeout_s)
        except TopicNotFoundError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_LOOK_AGAIN_S)


def _largest_message(admin: Admin, asked: list[ConfigResource], timeout_s: float) -> int:
    largest = 0
    for resource, answer in admin.client.describe_configs(asked, request_timeout=timeout_s).items():
        try:
            largest = max(largest, int(answer.result()["max.message.bytes"].value))
        except KafkaException as problem:
            if ErrorKind.of(problem.args[0]) is not ErrorKind.UNAUTHORIZED:
                raise admin.explain(problem, resource.name, "DescribeConfigs") from problem
            log.warning("The settings of topic '%s' may not be read; taken for Kafka's defaults", resource.name)
            largest = max(largest, KAFKAS_MAX_MESSAGE_BYTES)
    return largest or KAFKAS_MAX_MESSAGE_BYTES


def _limit(largest_source_message: int) -> int:
    return min(2 * max(largest_source_message, KAFKAS_MAX_MESSAGE_BYTES), _MOST_BYTES)


class ChangelogTopics:
    """The changelogs of one app, on the cluster that keeps them.

    Hours may pass between two calls, and firewalls silently drop idle connections, so each call has a new admin client
    unless it is given one. Topics are described, not listed by name: that could create them.
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
        """Makes the changelog of a generation and waits until it can be used.

        ``may_exist``: an earlier attempt was not answered, and may have created it.
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
        """The changelog of a generation that was made before; TopicNotFoundError if it is gone."""
        name = topic_name(self.prefix, self.app, generation)
        try:
            found = topics.find(admin or Admin(self._properties), name, timeout_s=timeout_s)
        except TopicNotFoundError as error:
            raise TopicNotFoundError(f"The changelog '{name}' is gone.", "Its generation is rebuilt.") from error
        return ChangelogTopic(name, _limit(largest_source_message), len(found.partitions))

    def delete(self, generation: int) -> None:
        """Deletes the changelog of a generation, if there is one, and waits until it is gone.

        Its query must have ended and its producer be closed before: where brokers create topics by themselves, a late
        producer would bring it back.
        """
        topics.delete(Admin(self._properties), topic_name(self.prefix, self.app, generation))

    def list(self) -> dict[int, str]:
        """The changelogs there are, by generation."""
        names = topics.topic_names(self._properties, timeout_s=TIMEOUT_S)
        found = {generation_of(self.prefix, self.app, name): name for name in names}
        return {generation: found[generation] for generation in sorted(filter(None, found))}
