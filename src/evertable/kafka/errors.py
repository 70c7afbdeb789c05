"""Classifies Kafka's errors, and explains them to an operator."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any

from confluent_kafka import KafkaError

from evertable.errors import (
    ChangelogError,
    EvertableError,
    KafkaAccessError,
    KafkaUnreachableError,
    NotAuthenticatedError,
    NotAuthorizedError,
    NotTrustedError,
    TopicNotFoundError,
)
from evertable.kafka.certificates import broker_certificate_fault, client_certificate_fault

log = logging.getLogger(__name__)


class ErrorKind(Enum):
    """What an error of Kafka means for the caller."""

    TRANSIENT = auto()
    """librdkafka recovers by itself, or a retry may succeed."""
    MISSING = auto()
    """The topic or the partition does not exist."""
    OUT_OF_RANGE = auto()
    """The offset to read next does not exist any more."""
    UNAUTHENTICATED = auto()
    """The login was rejected."""
    UNAUTHORIZED = auto()
    """A right is missing."""
    OTHER = auto()

    @classmethod
    def of(cls, error: KafkaError) -> ErrorKind:
        default = cls.TRANSIENT if error.retriable() else cls.OTHER
        return _KINDS.get(error.code(), default)


_KINDS = {
    **dict.fromkeys(
        (
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
            KafkaError.GROUP_AUTHORIZATION_FAILED,  # librdkafka requires a group.id, but these consumers use no group
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError.NETWORK_EXCEPTION,
            KafkaError.NOT_COORDINATOR,
            KafkaError.NOT_LEADER_FOR_PARTITION,
            KafkaError.REPLICA_NOT_AVAILABLE,
            KafkaError.REQUEST_TIMED_OUT,
        ),
        ErrorKind.TRANSIENT,
    ),
    **dict.fromkeys(
        (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART), ErrorKind.MISSING
    ),
    **dict.fromkeys((KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE), ErrorKind.OUT_OF_RANGE),
    **dict.fromkeys((KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED), ErrorKind.UNAUTHENTICATED),
    **dict.fromkeys(
        (
            KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ),
        ErrorKind.UNAUTHORIZED,
    ),
}

_ATTEMPT = re.compile(r" \(after \d+ms in state .*\)$| after \d+ ms(?=: )")  # librdkafka's count of its own attempts
_CONNECTION = re.compile(r"^\w+://\S+/\w+: ")  # librdkafka's name of the connection, in front of its messages
_ALERT = re.compile(r"alert ([\w ]+?)(?:: |$)")  # why a broker rejected the client's certificate
_TOKEN = "Failed to acquire SASL OAUTHBEARER token: "  # noqa: S105 - begins a message of librdkafka


def is_transient(error: object) -> bool:
    """Returns whether the same call may succeed later although nobody changes anything."""
    if isinstance(error, KafkaError):
        return ErrorKind.of(error) is ErrorKind.TRANSIENT
    return isinstance(error, KafkaUnreachableError) and not isinstance(error, KafkaAccessError)


class _QuietLogger(logging.LoggerAdapter[logging.Logger]):
    """Demotes librdkafka's log lines, one for each failed attempt to connect, to DEBUG."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        super().log(min(level, logging.DEBUG), msg, *args, **kwargs)


QUIET = _QuietLogger(log, {})


class ConnectionErrors:
    """Remembers why a client's connections fail, for the errors of its calls.

    A call that failed reports only a timeout. librdkafka reports the cause separately, to ``note``.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.servers = str(properties.get("bootstrap.servers", ""))
        self._properties = properties
        self._error: KafkaError | None = None

    @property
    def message(self) -> str:
        """The most informative error in librdkafka's words; empty if the connections work."""
        return self._error.str() if self._error else ""

    def note(self, error: KafkaError) -> None:
        """Remembers an error; a client's ``error_cb``."""
        if self._error is None or _informativeness(error) >= _informativeness(self._error):
            self._error = error

    def clear(self) -> None:
        """Forgets the errors, as the connections work again."""
        self._error = None

    def explain(self, error: KafkaError, topic: str, right: str) -> EvertableError:
        """Returns the error to report for a failed call about ``topic``, which needed ``right``."""
        kind, servers, message = ErrorKind.of(error), self.servers, error.str().rstrip(".")
        if kind in (ErrorKind.TRANSIENT, ErrorKind.UNAUTHENTICATED):
            rejection = self._rejection(self._error or error)
            if rejection is not None:
                return rejection
        match kind:
            case ErrorKind.MISSING:
                what = f"Kafka at {servers} has no topic '{topic}'."
                return TopicNotFoundError(what, "Create it, or correct its name.", topic=topic)
            case ErrorKind.OUT_OF_RANGE:
                what = f"'{topic}' no longer holds the next offset to read: {message}."
                return ChangelogError(what, "Rebuild the generation.")
            case ErrorKind.TRANSIENT:
                return KafkaUnreachableError(
                    f"Kafka at {servers} does not answer: {without_attempt(self.message or message)}.",
                    "Check that the broker runs, that kafka.bootstrap.servers is its address as seen from here, and "
                    "that security.protocol is the one that the broker expects.",
                )
            case ErrorKind.UNAUTHORIZED:
                resource = f"topic '{topic}'" if topic else "the cluster"
                if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                    resource = f"transactional id '{topic}'"
                return NotAuthorizedError(
                    f"Kafka at {servers} does not allow {right} on {resource}: {message}.",
                    f"Give its user the right {right} on {resource} (an ACL).",
                )
        return KafkaUnreachableError(
            f"Kafka at {servers} refuses " + (f"'{topic}': {message}." if topic else f"to answer: {message}."),
            "Check the security properties of the section kafka, and the rights of its user (ACLs).",
        )

    def _rejection(self, error: KafkaError) -> EvertableError | None:
        """Returns the error for a client or a broker that rejects the other; None if that is not the cause."""
        message = without_attempt(error.str()).rstrip(".")
        if "certificate verify failed" in message:
            fault = broker_certificate_fault(self._properties, message) or _CONNECTION.sub("", message)
            step = "Give the broker a valid certificate, or correct ssl.ca.location or the address in kafka."
            return NotTrustedError(f"Kafka at {self.servers} is not trusted. {fault}.", step)
        if message.startswith(_TOKEN):
            endpoint = self._properties.get("sasl.oauthbearer.token.endpoint.url", "")
            step = "Check that it can be reached from here, and the client id and secret in the section kafka."
            what = f"Could not get a token for Kafka at {self.servers} from {endpoint}"
            return NotAuthenticatedError(f"{what}: {message.removeprefix(_TOKEN)}.", step)
        if ErrorKind.of(error) is ErrorKind.UNAUTHENTICATED:
            step = "Check the login in the section kafka: sasl.mechanism, name and password, or client id and secret."
            what = f"Kafka at {self.servers} rejected the login"
            return NotAuthenticatedError(f"{what}: {_CONNECTION.sub('', message)}.", step)
        if alert := _ALERT.search(message):
            fault = client_certificate_fault(self._properties, datetime.now(UTC)) or alert[1]
            step = "Check ssl.certificate.location and ssl.key.location in the section kafka."
            what = f"Kafka at {self.servers} rejected the certificate of this client"
            return NotAuthenticatedError(f"{what}: {fault}.", step)
        return None


def _informativeness(error: KafkaError) -> int:
    """Ranks an error by how much it reveals about the cause."""
    if error.str().startswith(_TOKEN):
        return 3  # the other errors follow from it
    is_rejection = ErrorKind.of(error) is ErrorKind.UNAUTHENTICATED or error.code() == KafkaError._SSL
    if is_rejection or "SSL routines" in error.str():
        return 2
    return 0 if error.code() == KafkaError._ALL_BROKERS_DOWN else 1


def without_attempt(message: str) -> str:
    """Removes librdkafka's count of its own attempts, so that the same error always has the same text."""
    return _ATTEMPT.sub("", message)
