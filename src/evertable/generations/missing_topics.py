"""Finds out whether the topics of a control message exist."""

from __future__ import annotations

from collections.abc import Mapping

from evertable.background import run_concurrently
from evertable.changelog.schema import Side
from evertable.config import Config
from evertable.errors import EvertableError, TopicNotFoundError
from evertable.generations.suggestions import with_suggestions
from evertable.kafka.admin import AdminPool
from evertable.kafka.topics import topic_id
from evertable.shutdown import Shutdown

TIMEOUT_S = 3.0
"""A topic about which Kafka does not answer in time is assumed to exist."""


def missing_topics(config: Config, shutdown: Shutdown, topics: Mapping[Side, str]) -> str:
    """Returns a sentence about the first topic that does not exist, with similar names; empty if all may exist."""
    admins, timeout_s = AdminPool(), shutdown.left(TIMEOUT_S)

    def check(side: Side, topic: str) -> str:
        source = (config.left, config.right)[side]
        properties = config.source_kafka(source).for_librdkafka()
        try:
            topic_id(admins.of(properties), topic, timeout_s=timeout_s)
        except TopicNotFoundError as missing:
            return with_suggestions(missing, properties, config.own_topics).sentences
        except EvertableError:
            return ""
        return ""

    found = run_concurrently(*(lambda side=side, topic=topic: check(side, topic) for side, topic in topics.items()))
    return next(filter(None, found), "")
