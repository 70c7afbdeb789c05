"""What Kafka's errors are told as."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from evertable.changelog.kafka import explain

STEP = "Check the security properties of the section kafka, and what its user may do (ACLs)."


def test_a_broker_that_is_away_is_told_with_what_to_check() -> None:
    """Without librdkafka's count of its attempts."""
    trouble = "k:1/bootstrap: Connect to ipv4#10.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"
    told = explain(KafkaError(KafkaError._TRANSPORT), "users", "k:1", trouble)
    assert str(told) == (
        "[KAFKA_UNREACHABLE] Kafka at k:1 does not answer: k:1/bootstrap: Connect to ipv4#10.0.0.1:1 failed: "
        "Connection refused. Check that the broker runs, and that kafka.bootstrap.servers is its address as seen "
        "from here."
    )


@pytest.mark.parametrize(("topic", "refused"), [("users", "refuses 'users'"), ("", "refuses to answer")])
def test_who_may_not_is_told_where_to_look(topic: str, refused: str) -> None:
    told = explain(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not authorised"), topic, "k:1")
    assert str(told) == f"[KAFKA_UNREACHABLE] Kafka at k:1 {refused}: not authorised. {STEP}"
