"""The secured broker itself: each listener authenticates its clients, and then their rights apply."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic
from tests.serving.secured.cluster import TOPIC, Secured
from tests.waiting import wait_until

from evertable.kafka.properties import KafkaProperties

LISTENERS = ["certificate", "plain", "scram", "tokens"]


def described(admin: AdminClient, topic: str) -> int:
    """Describes a topic, and returns the error's code, 0 if there is none."""
    try:
        admin.describe_topics(TopicCollection([topic]), request_timeout=10)[topic].result()
    except KafkaException as problem:
        return int(problem.args[0].code())
    return 0


@pytest.mark.parametrize("listener", LISTENERS)
def test_rights_apply_to_authenticated_clients(secured: Secured, listener: str) -> None:
    topic = f"t-{uuid.uuid4()}"
    secured.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    admin = AdminClient({**KafkaProperties.parse(secured.kafka(listener)).for_librdkafka()})
    assert described(admin, topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    secured.allow((TOPIC, topic, "DESCRIBE"))
    wait_until(lambda: described(admin, topic) == 0)
    secured.forbid((TOPIC, topic, "DESCRIBE"))
    wait_until(lambda: described(admin, topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED)


@pytest.mark.parametrize("listener", ["plain", "scram", "tokens"])
def test_a_wrong_password_is_rejected(secured: Secured, listener: str) -> None:
    errors: list[KafkaError] = []
    settings = KafkaProperties.parse(secured.kafka(listener, "wrong")).for_librdkafka()
    callbacks: dict[str, Any] = {"error_cb": errors.append, "log_level": 0}
    admin = AdminClient({**settings, **callbacks})
    wait_until(lambda: admin.poll(0.1) or any(error.code() == KafkaError._AUTHENTICATION for error in errors))
