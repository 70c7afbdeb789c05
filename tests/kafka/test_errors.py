"""What Kafka's errors are told as."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from evertable.kafka.errors import ConnectionErrors, explain

STEP = "Check the security properties of the section kafka, and the rights of its user (ACLs)."


def test_a_broker_that_is_away_is_told_with_what_to_check() -> None:
    """Without librdkafka's count of its attempts."""
    trouble = "k:1/bootstrap: Connect to ipv4#10.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"
    told = explain(KafkaError(KafkaError._TRANSPORT), "users", "k:1", trouble)
    assert str(told) == (
        "[KAFKA_UNREACHABLE] Kafka at k:1 does not answer: k:1/bootstrap: Connect to ipv4#10.0.0.1:1 failed: "
        "Connection refused. Check that the broker runs, that kafka.bootstrap.servers is its address as seen from "
        "here, and that security.protocol is the one that the broker expects."
    )


@pytest.mark.parametrize(("topic", "refused"), [("users", "refuses 'users'"), ("", "refuses to answer")])
def test_what_has_no_words_of_its_own_is_told_where_to_look(topic: str, refused: str) -> None:
    told = explain(KafkaError(KafkaError.POLICY_VIOLATION, "not here"), topic, "k:1")
    assert str(told) == f"[KAFKA_UNREACHABLE] Kafka at k:1 {refused}: not here. {STEP}"


@pytest.mark.parametrize(
    ("code", "name", "what"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "users", "topic 'users'"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "evertable.demo", "transactional id 'evertable.demo'"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "", "the cluster"),
    ],
)
def test_who_may_not_is_told_which_right_is_missing_on_what(code: int, name: str, what: str) -> None:
    told = explain(KafkaError(code, "not authorised."), name, "k:1", right="Write")
    assert str(told) == (
        f"[NOT_AUTHORIZED] Kafka at k:1 does not allow Write on {what}: not authorised. Give its user the right Write "
        f"on {what} (an ACL)."
    )


def test_a_call_that_took_too_long_is_told_by_what_befell_the_connection() -> None:
    """Not by what came last, but by what tells most; and no longer once it is over."""
    trouble = ConnectionErrors({"bootstrap.servers": "k:1"})
    login = "sasl_ssl://k:1/bootstrap: SASL authentication error: Invalid username (after 3ms in state AUTH_REQ)"
    trouble.note(KafkaError(KafkaError._AUTHENTICATION, login))
    trouble.note(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    told = trouble.explain(KafkaError(KafkaError._TIMED_OUT), "users")
    begin = "[NOT_AUTHENTICATED] Kafka at k:1 rejected the login: SASL authentication error: Invalid username. Check"
    assert str(told).startswith(begin)
    trouble.clear()
    assert trouble.explain(KafkaError(KafkaError._TIMED_OUT), "users").condition == "KAFKA_UNREACHABLE"


def test_a_token_that_is_not_to_be_had() -> None:
    endpoint = {"sasl.oauthbearer.token.endpoint.url": "https://id.example/token"}
    trouble = ConnectionErrors({"bootstrap.servers": "k:1", **endpoint})
    trouble.note(KafkaError(KafkaError._AUTHENTICATION, "Failed to acquire SASL OAUTHBEARER token: HTTP 503"))
    told = trouble.explain(KafkaError(KafkaError._TRANSPORT), "")
    begin = "[NOT_AUTHENTICATED] Could not get a token for Kafka at k:1 from https://id.example/token: HTTP 503. Check"
    assert str(told).startswith(begin)


def test_a_certificate_of_ours_that_the_broker_does_not_accept() -> None:
    trouble = ConnectionErrors({"bootstrap.servers": "k:1"})
    said = "error:0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert number 42"
    trouble.note(KafkaError(KafkaError._TRANSPORT, f"ssl://k:1/bootstrap: Receive failed: {said}"))
    told = trouble.explain(KafkaError(KafkaError._TRANSPORT), "")
    begin = "[NOT_AUTHENTICATED] Kafka at k:1 rejected the certificate of this client: bad certificate. Check"
    assert str(told).startswith(begin)
