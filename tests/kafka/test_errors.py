"""Kafka's errors are classified, and explained to operators."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from evertable.errors import EvertableError, KafkaUnreachableError, NotAuthenticatedError, TopicNotFoundError
from evertable.kafka.errors import ConnectionErrors, ErrorKind, is_transient

STEP = "Check the security properties of the section kafka, and the rights of its user (ACLs)."


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._TRANSPORT, ErrorKind.TRANSIENT),
        (KafkaError._PARTITION_EOF, ErrorKind.TRANSIENT),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, ErrorKind.MISSING),
        (KafkaError.OFFSET_OUT_OF_RANGE, ErrorKind.OUT_OF_RANGE),
        (KafkaError.SASL_AUTHENTICATION_FAILED, ErrorKind.UNAUTHENTICATED),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorKind.UNAUTHORIZED),
        (KafkaError.POLICY_VIOLATION, ErrorKind.OTHER),
    ],
)
def test_kinds_of_errors(code: int, kind: ErrorKind) -> None:
    error = KafkaError(code)
    assert ErrorKind.of(error) is kind
    assert is_transient(error) is (kind is ErrorKind.TRANSIENT)


def test_only_an_unreachable_kafka_is_worth_a_retry() -> None:
    """One that rejects the client answers the same until somebody changes something."""
    assert is_transient(KafkaUnreachableError("It does not answer."))
    assert not is_transient(NotAuthenticatedError("It rejected the login."))
    assert not is_transient(TopicNotFoundError("It has no such topic."))


def explained(error: KafkaError, topic: str) -> EvertableError:
    return ConnectionErrors({"bootstrap.servers": "k:1"}).explain(error, topic, "Write")


def test_an_unreachable_broker_comes_with_what_to_check() -> None:
    """The message leaves out librdkafka's count of its attempts."""
    cause = "k:1/bootstrap: Connect to ipv4#10.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"
    errors = ConnectionErrors({"bootstrap.servers": "k:1"})
    errors.note(KafkaError(KafkaError._TRANSPORT, cause))
    error = errors.explain(KafkaError(KafkaError._TIMED_OUT), "users", "Read")
    assert str(error) == (
        "[KAFKA_UNREACHABLE] Kafka at k:1 does not answer: k:1/bootstrap: Connect to ipv4#10.0.0.1:1 failed: "
        "Connection refused. Check that the broker runs, that kafka.bootstrap.servers is its address as seen from "
        "here, and that security.protocol is the one that the broker expects."
    )


@pytest.mark.parametrize(("topic", "refused"), [("users", "refuses 'users'"), ("", "refuses to answer")])
def test_other_errors_come_with_what_to_check(topic: str, refused: str) -> None:
    error = explained(KafkaError(KafkaError.POLICY_VIOLATION, "not here"), topic)
    assert str(error) == f"[KAFKA_UNREACHABLE] Kafka at k:1 {refused}: not here. {STEP}"


@pytest.mark.parametrize(
    ("code", "name", "what"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "users", "topic 'users'"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "evertable.demo", "transactional id 'evertable.demo'"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "", "the cluster"),
    ],
)
def test_a_missing_right_is_named_with_its_resource(code: int, name: str, what: str) -> None:
    error = explained(KafkaError(code, "not authorised."), name)
    assert str(error) == (
        f"[NOT_AUTHORIZED] Kafka at k:1 does not allow Write on {what}: not authorised. Give its user the right Write "
        f"on {what} (an ACL)."
    )


def test_a_timeout_is_explained_by_the_errors_of_the_connection() -> None:
    """The most informative error counts, not the last one; and none after the connection works again."""
    errors = ConnectionErrors({"bootstrap.servers": "k:1"})
    login = "sasl_ssl://k:1/bootstrap: SASL authentication error: Invalid username (after 3ms in state AUTH_REQ)"
    errors.note(KafkaError(KafkaError._AUTHENTICATION, login))
    errors.note(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    error = errors.explain(KafkaError(KafkaError._TIMED_OUT), "users", "Read")
    begin = "[NOT_AUTHENTICATED] Kafka at k:1 rejected the login: SASL authentication error: Invalid username. Check"
    assert str(error).startswith(begin)
    errors.clear()
    assert errors.explain(KafkaError(KafkaError._TIMED_OUT), "users", "Read").condition == "KAFKA_UNREACHABLE"


def test_a_token_that_cannot_be_obtained() -> None:
    endpoint = {"sasl.oauthbearer.token.endpoint.url": "https://id.example/token"}
    errors = ConnectionErrors({"bootstrap.servers": "k:1", **endpoint})
    errors.note(KafkaError(KafkaError._AUTHENTICATION, "Failed to acquire SASL OAUTHBEARER token: HTTP 503"))
    error = errors.explain(KafkaError(KafkaError._TRANSPORT), "", "Read")
    begin = "[NOT_AUTHENTICATED] Could not get a token for Kafka at k:1 from https://id.example/token: HTTP 503. Check"
    assert str(error).startswith(begin)


def test_a_client_certificate_that_the_broker_rejects() -> None:
    errors = ConnectionErrors({"bootstrap.servers": "k:1"})
    message = "error:0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert number 42"
    errors.note(KafkaError(KafkaError._TRANSPORT, f"ssl://k:1/bootstrap: Receive failed: {message}"))
    error = errors.explain(KafkaError(KafkaError._TRANSPORT), "", "Read")
    begin = "[NOT_AUTHENTICATED] Kafka at k:1 rejected the certificate of this client: bad certificate. Check"
    assert str(error).startswith(begin)
