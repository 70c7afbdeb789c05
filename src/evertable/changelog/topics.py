"""Names, creates, lists and deletes changelog topics, with the settings of docs/CHANGELOG-FORMAT.md."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from evertable.errors import KafkaUnreachableError, NotEnoughBrokersError, TopicExistsError, TopicNotFoundError
from evertable.kafka.admin import Admin
from evertable.kafka.consumer import GRACE_S
from evertable.kafka.errors import MISSING, UNAUTHORIZED
from evertable.kafka.topics import describe

log = logging.getLogger(__name__)

KAFKAS_MAX_MESSAGE_BYTES = 1_048_588
"""Kafka's default for ``max.message.bytes``."""

TIMEOUT_S = 30.0
_MAX_LIMIT = 2**31 - 1
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


def largest_message(
    admin: Admin, topics: Iterable[str], *, timeout_s: float = TIMEOUT_S, grace_s: float = GRACE_S
) -> int:
    """Returns the largest message that any of these topics accepts; Kafka's default if reading it is not allowed.

    Raises TopicNotFoundError if a topic does not exist for ``grace_s``.
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
    answers = admin.ask(lambda client: client.describe_configs(asked, request_timeout=timeout_s), timeout_s)
    for resource, answer in answers.items():
        try:
            largest = max(largest, int(answer.result()["max.message.bytes"].value))
        except KafkaException as problem:
            error: KafkaError = problem.args[0]
            if error.code() not in UNAUTHORIZED:
                raise admin.explain(problem, resource.name, "DescribeConfigs") from problem
            log.warning("No right to read the settings of topic '%s'; assuming Kafka's defaults", resource.name)
            largest = max(largest, KAFKAS_MAX_MESSAGE_BYTES)
    return largest or KAFKAS_MAX_MESSAGE_BYTES


def _limit(largest_source_message: int) -> int:
    return min(2 * max(largest_source_message, KAFKAS_MAX_MESSAGE_BYTES), _MAX_LIMIT)


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
        topic = NewTopic(name, self._partitions, self._replication, config=settings)
        try:
            self._ask(admin, name, lambda client: client.create_topics([topic], request_timeout=timeout_s), "Create")
        except TopicExistsError:
            if not may_exist:
                raise
        self._await(admin, name, self._partitions, timeout_s)
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
        partitions = _partitions_of(admin or Admin(self._properties), name, timeout_s)
        if not partitions:
            raise TopicNotFoundError(f"The changelog '{name}' is gone.", "Its generation is built anew.")
        return ChangelogTopic(name, _limit(largest_source_message), partitions)

    def delete(self, generation: int) -> None:
        """Deletes the changelog of a generation, if there is one, and waits until it does not exist.

        Its query must have ended and its producer be closed: if brokers create topics automatically, a late producer
        would recreate it.
        """
        name, admin = topic_name(self.prefix, self.app, generation), Admin(self._properties)
        try:
            self._ask(admin, name, lambda client: client.delete_topics([name], request_timeout=TIMEOUT_S), "Delete")
        except TopicNotFoundError:
            log.debug("There was no topic '%s' to delete", name)
        self._await(admin, name, 0, TIMEOUT_S)

    def list(self) -> dict[int, str]:
        """Returns the names of the app's changelogs, by generation."""
        admin = Admin(self._properties)
        try:
            topics = admin.client.list_topics(timeout=TIMEOUT_S).topics
        except KafkaException as problem:
            raise admin.explain(problem, f"{self.prefix}.{self.app}.*") from problem
        found = {generation_of(self.prefix, self.app, name): name for name in topics}
        return {generation: found[generation] for generation in sorted(filter(None, found))}

    def _ask(
        self, admin: Admin, name: str, request: Callable[[AdminClient], Mapping[str, Future[None]]], right: str
    ) -> None:
        try:
            admin.ask(request, TIMEOUT_S)[name].result()
        except KafkaException as problem:
            error: KafkaError = problem.args[0]
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                raise TopicExistsError(
                    f"The topic '{name}' is there already.", "Take the next generation."
                ) from problem
            if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
                raise NotEnoughBrokersError(name, self._replication, error.str()) from problem
            raise admin.explain(problem, name, right) from problem

    def _await(self, admin: Admin, name: str, partitions: int, timeout_s: float) -> None:
        """Brokers learn of a new or a deleted topic a little later; until then it looks as it did before."""
        deadline = time.monotonic() + timeout_s
        while _partitions_of(admin, name, timeout_s) != partitions:
            if time.monotonic() > deadline:
                raise KafkaUnreachableError(
                    f"Kafka at {admin.servers} still does not show '{name}' with {partitions} partitions.",
                    "Check that all brokers are up.",
                )
            time.sleep(_LOOK_AGAIN_S)


def _partitions_of(admin: Admin, name: str, timeout_s: float) -> int:
    try:
        return len(describe(admin, name, timeout_s).partitions)
    except KafkaException as problem:
        if problem.args[0].code() in MISSING:
            return 0
        raise admin.explain(problem, name) from problem
