"""Topics as Kafka describes them, and the ids that tell a topic from one that was made again under its name."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, TopicCollection, Uuid
from confluent_kafka.admin import TopicDescription

from evertable.kafka.admin import Admin
from evertable.kafka.consumer import GRACE_S
from evertable.kafka.errors import MISSING

_NONE = str(Uuid(0, 0))  # from a broker that is older than ids (2.8)
_ASK_AGAIN_S = 0.05


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


def topic_names(properties: Mapping[str, Any], *, timeout_s: float) -> list[str]:
    """Of all topics that may be seen; KafkaUnreachableError."""
    admin = Admin(properties)
    try:
        return list(admin.client.list_topics(timeout=timeout_s).topics)
    except KafkaException as problem:
        raise admin.explain(problem, "") from problem


def describe(admin: Admin, topic: str, timeout_s: float) -> TopicDescription:
    """What Kafka says of a topic just now; KafkaException."""
    topics = TopicCollection([topic])
    answers = admin.ask(lambda client: client.describe_topics(topics, request_timeout=timeout_s), timeout_s)
    found: TopicDescription = answers[topic].result()
    return found


def id_of(found: TopicDescription) -> str | None:
    """The id of a topic that was described."""
    return None if str(found.topic_id) == _NONE else str(found.topic_id)
