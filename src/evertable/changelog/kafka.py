"""What the changelog's Kafka clients have in common: plain consumers without a group, and clear errors.

Properties are librdkafka's, as :mod:`evertable.config` translates them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException

from evertable.errors import ChangelogError, EvertableError, KafkaUnreachableError, TopicNotFoundError

log = logging.getLogger(__name__)

PASSING = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._PARTITION_EOF,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.GROUP_AUTHORIZATION_FAILED,  # librdkafka wants a group.id, but these consumers never use a group
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
    }
)
"""Errors that librdkafka gets over by itself, by and by."""

MISSING = frozenset({KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART})


class PlainConsumer:
    """A consumer that belongs to no group and commits nothing, and remembers what troubles it."""

    def __init__(self, properties: Mapping[str, Any], overrides: Mapping[str, Any]) -> None:
        self.trouble = ""
        self.servers = properties.get("bootstrap.servers", "")
        self.kafka = Consumer(
            {
                "group.id": "evertable",  # librdkafka insists; without subscriptions and commits it means nothing
                **properties,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "allow.auto.create.topics": False,
                "auto.offset.reset": "error",
                "error_cb": self._note,
                **overrides,
            },
            logger=log,
        )

    def _note(self, error: KafkaError) -> None:
        self.trouble = error.str()

    def partitions(self, topic: str, timeout_s: float) -> list[int]:
        """The topic's partitions; TopicNotFoundError without creating it."""
        try:
            found = self.kafka.list_topics(topic, timeout=timeout_s).topics[topic]
        except KafkaException as error:
            raise self.error(error.args[0], topic) from error
        if found.error is not None:
            raise self.error(found.error, topic)
        return sorted(found.partitions)

    def error(self, error: KafkaError, topic: str) -> EvertableError:
        """What an operator should read when Kafka has said this about a topic."""
        if error.code() in MISSING:
            return TopicNotFoundError(
                f"Kafka at {self.servers} has no topic '{topic}'.", "Create it, or correct its name."
            )
        if error.code() in PASSING:
            why = self.trouble or error.str()
            return KafkaUnreachableError(
                f"Kafka at {self.servers} does not answer: {why}.", "Check kafka.bootstrap.servers."
            )
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            return ChangelogError(
                f"'{topic}' no longer holds what should be read next: {error.str()}.", "Build the generation anew."
            )
        return KafkaUnreachableError(f"Kafka at {self.servers} refuses to show '{topic}': {error.str()}.")

    def close(self) -> None:
        self.kafka.close()
