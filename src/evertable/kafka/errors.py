"""Explains Kafka errors to an operator: unreachable, not trusted, not authenticated, or a missing right."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import KafkaError

from evertable.errors import (
    ChangelogError,
    EvertableError,
    KafkaUnreachableError,
    NotAuthenticatedError,
    NotAuthorizedError,
    NotTrustedError,
    TopicNotFoundError,
)
from evertable.kafka.certificates import why_not_accepted, why_not_trusted

log = logging.getLogger(__name__)

TRANSIENT = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._PARTITION_EOF,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
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
"""What librdkafka gets over by itself, sooner or later."""

MISSING = frozenset({KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART})
OUT_OF_RANGE = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})
UNAUTHORIZED = frozenset(
    {
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
"""A right is missing."""
_NOT_LET_IN = frozenset({KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED})

_ATTEMPT = re.compile(r" \(after \d+ms in state .*\)$| after \d+ ms(?=: )")  # librdkafka's count of its own attempts
_PLACE = re.compile(r"^\w+://\S+/\w+: ")  # where, which is said already
_ALERT = re.compile(r"alert ([\w ]+?)(?:: |$)")  # what a broker says before it hangs up on a client's certificate
_TOKEN = "Failed to acquire SASL OAUTHBEARER token: "  # noqa: S105 - librdkafka's words


class _Quiet(logging.LoggerAdapter[logging.Logger]):
    """Takes librdkafka's own lines, one for each failed attempt to connect, as details."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        super().log(min(level, logging.DEBUG), msg, *args, **kwargs)


QUIET = _Quiet(log, {})


class ConnectionErrors:
    """What keeps a client from its cluster: librdkafka tells ``note``, and ``explain`` is asked what to say of it.

    A call that did not work says only that it took too long; why is told here, for the connection.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.servers = str(properties.get("bootstrap.servers", ""))
        self._properties = properties
        self._error: KafkaError | None = None

    @property
    def message(self) -> str:
        """In librdkafka's words; empty if all is well."""
        return self._error.str() if self._error else ""

    def note(self, error: KafkaError) -> None:
        """To be given as ``error_cb``."""
        if self._error is None or _telling(error) >= _telling(self._error):
            self._error = error

    def clear(self) -> None:
        """It works again."""
        self._error = None

    def explain(self, error: KafkaError, topic: str, right: str = "") -> EvertableError:
        """What an operator should read when Kafka said this about a topic, for which ``right`` is needed."""
        passes = error.code() in TRANSIENT or error.retriable() or error.code() in _NOT_LET_IN
        kept_out = self._kept_out(self._error or error) if passes else None
        return kept_out or explain(error, topic, self.servers, self.message, right)

    def _kept_out(self, error: KafkaError) -> EvertableError | None:
        """That there is no connection because one side does not accept the other; None if that is not the trouble."""
        said = without_attempt(error.str()).rstrip(".")
        if "certificate verify failed" in said:
            why = why_not_trusted(self._properties, said) or _PLACE.sub("", said)
            step = "Let the broker have a certificate that fits, or correct ssl.ca.location or the address in kafka."
            return NotTrustedError(f"Kafka at {self.servers} is not trusted. {why}.", step)
        if said.startswith(_TOKEN):
            endpoint = self._properties.get("sasl.oauthbearer.token.endpoint.url", "")
            step = "Check that it can be reached from here, and the client id and secret in the section kafka."
            what = f"No token for Kafka at {self.servers} is to be had from {endpoint}"
            return NotAuthenticatedError(f"{what}: {said.removeprefix(_TOKEN)}.", step)
        if error.code() in _NOT_LET_IN:
            step = "Check the login in the section kafka: sasl.mechanism, name and password, or client id and secret."
            return NotAuthenticatedError(f"Kafka at {self.servers} does not let us in: {_PLACE.sub('', said)}.", step)
        if alert := _ALERT.search(said):
            what = f"Kafka at {self.servers} does not accept the certificate of this client"
            why = why_not_accepted(self._properties, datetime.now(UTC)) or alert[1]
            step = "Check ssl.certificate.location and ssl.key.location in the section kafka."
            return NotAuthenticatedError(f"{what}: {why}.", step)
        return None


def _telling(error: KafkaError) -> int:
    """How much an error says about the cause."""
    if error.str().startswith(_TOKEN):
        return 3  # of which all that follows comes
    if error.code() in _NOT_LET_IN or error.code() == KafkaError._SSL or "SSL routines" in error.str():
        return 2
    return 0 if error.code() == KafkaError._ALL_BROKERS_DOWN else 1


def explain(error: KafkaError, topic: str, servers: str, trouble: str = "", right: str = "") -> EvertableError:
    """What an operator should read when Kafka said this about a topic; ``trouble`` is what came before."""
    code, said = error.code(), error.str().rstrip(".")
    if code in MISSING:
        what = f"Kafka at {servers} has no topic '{topic}'."
        return TopicNotFoundError(what, "Create it, or correct its name.", topic=topic)
    if code in OUT_OF_RANGE:
        return ChangelogError(
            f"'{topic}' no longer holds what is to be read next: {said}.", "Build the generation anew."
        )
    if code in TRANSIENT or error.retriable():
        return KafkaUnreachableError(
            f"Kafka at {servers} does not answer: {without_attempt(trouble or said)}.",
            "Check that the broker runs, that kafka.bootstrap.servers is its address as seen from here, and that "
            "security.protocol is what it wants.",
        )
    if code in UNAUTHORIZED:
        what = f"transactional id '{topic}'" if code == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED else topic
        what = what if what != topic else f"topic '{topic}'" if topic else "the cluster"
        return NotAuthorizedError(
            f"Kafka at {servers} does not allow {right or 'this'} on {what}: {said}.",
            f"Give its user the right {right} on {what} (an ACL)." if right else "Give its user the right to (an ACL).",
        )
    refused = f"refuses '{topic}'" if topic else "refuses to answer"
    return KafkaUnreachableError(
        f"Kafka at {servers} {refused}: {said}.",
        "Check the security properties of the section kafka, and what its user may do (ACLs).",
    )


def without_attempt(said: str) -> str:
    """librdkafka's words without the count of its own attempts, which makes them other words each time."""
    return _ATTEMPT.sub("", said)
