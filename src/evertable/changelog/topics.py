"""Changelog topics: made, listed and deleted with the settings of docs/CHANGELOG-FORMAT.md."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

from evertable.changelog.kafka import PlainConsumer
from evertable.changelog.names import generation_of, topic_name
from evertable.changelog.trouble import DENIED, Admin
from evertable.errors import KafkaUnreachableError, NotEnoughBrokersError, TopicExistsError, TopicNotFoundError

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


def largest_message(properties: Mapping[str, Any], topics: Iterable[str], *, timeout_s: float = 30.0) -> int:
    """The largest message that any of these topics takes; Kafka's default where reading its settings is not allowed."""
    admin = Admin(properties)
    asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    largest = 0
    for resource, answer in admin.client.describe_configs(asked, request_timeout=timeout_s).items():
        try:
            largest = max(largest, int(answer.result()["max.message.bytes"].value))
        except KafkaException as problem:
            error: KafkaError = problem.args[0]
            if error.code() not in DENIED:
                raise admin.explain(problem, resource.name, "DescribeConfigs") from problem
            log.warning("The settings of topic '%s' may not be read; taken for Kafka's defaults", resource.name)
            largest = max(largest, KAFKAS_MAX_MESSAGE_BYTES)
    return largest or KAFKAS_MAX_MESSAGE_BYTES


def _limit(largest_source_message: int) -> int:
    return min(2 * max(largest_source_message, KAFKAS_MAX_MESSAGE_BYTES), _MOST_BYTES)


class ChangelogTopics:
    """The changelogs of one app, on the cluster that keeps them."""

    def __init__(
        self,
        properties: Mapping[str, Any],
        prefix: str,
        app: str,
        *,
        partitions: int = 1,
        replication: int = 1,
        timeout_s: float = 30.0,
    ) -> None:
        self.prefix = prefix
        self.app = app
        self._partitions = partitions
        self._replication = replication
        self._timeout_s = timeout_s
        self._admin = Admin(properties)
        self._consumer = PlainConsumer(properties, {})  # for metadata: an admin client may bring topics into being

    def create(self, generation: int, largest_source_message: int) -> ChangelogTopic:
        """Makes the changelog of a generation and waits until it can be used."""
        limit = _limit(largest_source_message)
        settings = {
            "cleanup.policy": "delete",
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "max.message.bytes": str(limit),
        }
        name = topic_name(self.prefix, self.app, generation)
        topic = NewTopic(name, self._partitions, self._replication, config=settings)
        self._result(name, self._admin.client.create_topics([topic], request_timeout=self._timeout_s)[name], "Create")
        self._await(name, self._partitions)
        return ChangelogTopic(name, limit)

    def find(self, generation: int, largest_source_message: int) -> ChangelogTopic:
        """The changelog of a generation that was made before; TopicNotFoundError if it is gone."""
        name = topic_name(self.prefix, self.app, generation)
        if not self._partitions_of(name):
            raise TopicNotFoundError(f"The changelog '{name}' is gone.", "Its generation is built anew.")
        return ChangelogTopic(name, _limit(largest_source_message))

    def delete(self, generation: int) -> None:
        """Deletes the changelog of a generation, if there is one, and waits until it is gone.

        Its query must have ended and its producer be closed before: where brokers create topics by themselves, a late
        producer would bring it back.
        """
        name = topic_name(self.prefix, self.app, generation)
        try:
            self._result(
                name, self._admin.client.delete_topics([name], request_timeout=self._timeout_s)[name], "Delete"
            )
        except TopicNotFoundError:
            log.debug("There was no topic '%s' to delete", name)
        self._await(name, 0)

    def list(self) -> dict[int, str]:
        """The changelogs there are, by generation."""
        try:
            topics = self._consumer.kafka.list_topics(timeout=self._timeout_s).topics
        except KafkaException as error:
            raise self._consumer.error(error.args[0], f"{self.prefix}.{self.app}.*") from error
        found = {generation_of(self.prefix, self.app, name): name for name in topics}
        return {generation: found[generation] for generation in sorted(filter(None, found))}

    def close(self) -> None:
        """Lets go of all connections; closing twice does no harm."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _result(self, name: str, answer: Future[None], right: str) -> None:
        try:
            answer.result()
        except KafkaException as problem:
            error: KafkaError = problem.args[0]
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                raise TopicExistsError(
                    f"The topic '{name}' is there already.", "Take the next generation."
                ) from problem
            if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
                raise NotEnoughBrokersError(name, self._replication, error.str()) from problem
            raise self._admin.explain(problem, name, right) from problem

    def _await(self, name: str, partitions: int) -> None:
        """Brokers learn of a new or a deleted topic a little later; until then it looks as it did before."""
        deadline = time.monotonic() + self._timeout_s
        while self._partitions_of(name) != partitions:
            if time.monotonic() > deadline:
                raise KafkaUnreachableError(
                    f"Kafka at {self._consumer.servers} still does not show '{name}' with {partitions} partitions.",
                    "Check that all brokers are up.",
                )
            time.sleep(_LOOK_AGAIN_S)

    def _partitions_of(self, name: str) -> int:
        try:
            return len(self._consumer.partitions(name, self._timeout_s))
        except TopicNotFoundError:
            return 0
