"""The errors that Evertable raises on purpose, each with a stable condition and a next step.

docs/TROUBLESHOOTING.md explains every condition. Errors between a client and its server are in ``client/errors.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class EvertableError(Exception):
    """Reports what happened, to what, and what to do next; ``condition`` is stable and safe to match on."""

    condition: ClassVar[str] = "EVERTABLE_ERROR"

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step

    @property
    def sentences(self) -> str:
        """The message without the condition."""
        return f"{self.what} {self.next_step}" if self.next_step else self.what

    def __str__(self) -> str:
        return f"[{self.condition}] {self.sentences}"


class ConfigError(EvertableError):
    """A configuration that cannot be used; ``problems`` lists all of them as ``path: what is wrong``."""

    condition = "CONFIG_INVALID"

    def __init__(self, what: str, problems: Sequence[str], next_step: str = "") -> None:
        super().__init__(what, next_step)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        listed = "".join(f"\n  - {problem}" for problem in self.problems)
        tail = f"\n{self.next_step}" if self.next_step else ""
        return f"[{self.condition}] {self.what}{listed}{tail}"


class SetupError(EvertableError):
    """Something that Evertable needs on this machine is missing or broken."""

    condition = "SETUP_FAILED"


class JavaNotFoundError(SetupError):
    condition = "JAVA_NOT_FOUND"


class JavaTooOldError(SetupError):
    condition = "JAVA_TOO_OLD"


class JarsUnavailableError(SetupError):
    condition = "JARS_UNAVAILABLE"


class JarChecksumError(SetupError):
    condition = "JAR_CHECKSUM_MISMATCH"


class OperatorError(SetupError):
    condition = "OPERATOR_NOT_BUILT"


class BrokerError(EvertableError):
    condition = "BROKER_FAILED"


class PortInUseError(BrokerError):
    condition = "PORT_IN_USE"


class KafkaUnreachableError(EvertableError):
    """Kafka does not answer or refuses a request at the moment; the caller retries."""

    condition = "KAFKA_UNREACHABLE"


class KafkaAccessError(KafkaUnreachableError):
    """Kafka answers, but client and broker do not accept each other; somebody has to fix that."""


class NotTrustedError(KafkaAccessError):
    condition = "BROKER_NOT_TRUSTED"


class NotAuthenticatedError(KafkaAccessError):
    """The broker rejected the login or the client's certificate, or no token could be obtained."""

    condition = "NOT_AUTHENTICATED"


class NotAuthorizedError(KafkaAccessError):
    """A right is missing; the message names it and the resource."""

    condition = "NOT_AUTHORIZED"


class TopicRecreatedError(EvertableError):
    """A topic was deleted and recreated while it was read for the first time."""

    condition = "TOPIC_RECREATED"


class TopicNotFoundError(EvertableError):
    """``topic`` is missing; ``each`` has one error per topic if several are."""

    condition = "TOPIC_NOT_FOUND"

    def __init__(
        self, what: str, next_step: str = "", *, topic: str = "", each: Sequence[TopicNotFoundError] = ()
    ) -> None:
        super().__init__(what, next_step)
        self.topic = topic
        self.each = tuple(each) or (self,)

    @classmethod
    def of(cls, each: Sequence[TopicNotFoundError]) -> TopicNotFoundError:
        """Combines several errors into one."""
        if len(each) == 1:
            return each[0]
        *others, last = each
        what = " ".join([*(other.sentences for other in others), last.what])
        return cls(what, last.next_step, topic=each[0].topic, each=each)


class TopicExistsError(EvertableError):
    condition = "TOPIC_EXISTS"


class NotEnoughBrokersError(EvertableError):
    condition = "NOT_ENOUGH_BROKERS"

    def __init__(self, topic: str, replication: int, reason: str) -> None:
        super().__init__(
            f"The topic '{topic}' cannot have {replication} replicas: {reason}.",
            "Set changelog.replication to at most the number of brokers.",
        )


class NoGuessError(EvertableError):
    condition = "NO_GUESS"


class EngineError(EvertableError):
    condition = "ENGINE_FAILED"


class NotEnoughSlotsError(EngineError):
    """A generation needs more Spark task slots than are free."""

    condition = "NOT_ENOUGH_SLOTS"

    def __init__(self, needed: int, free: int) -> None:
        super().__init__(
            f"The generation needs {needed} Spark task slots and {free} are free.",
            "Give the engine more (engine.master, e.g. local[512]), or retire a generation first.",
        )


class QueryFailedError(EngineError):
    """A generation's query ended with an error; ``reason`` is the failure's own condition."""

    condition = "QUERY_FAILED"

    def __init__(
        self, what: str, next_step: str = "", *, reason: str = "QUERY_FAILED", retriable: bool = False
    ) -> None:
        super().__init__(what, next_step)
        self.reason = reason
        self.retriable = retriable


class NotEnoughMemoryError(EvertableError):
    condition = "NOT_ENOUGH_MEMORY"


class ChangelogError(EvertableError):
    """A changelog has a record that this version cannot read."""

    condition = "CHANGELOG_FORMAT"


class StateFormatError(EvertableError):
    condition = "STATE_FORMAT"


class AppRunningError(EvertableError):
    condition = "APP_RUNNING"


class AppNotFoundError(EvertableError):
    condition = "APP_NOT_FOUND"


class FencedError(EvertableError):
    """Another orchestrator of the same app took over."""

    condition = "FENCED"


class RequestError(EvertableError):
    """A viewer's request cannot be fulfilled; other viewers are not affected. docs/PROTOCOL.md lists them."""

    condition = "REQUEST_INVALID"


class TableNotFoundError(RequestError):
    condition = "TABLE_NOT_FOUND"


class NotReadyError(RequestError):
    """The table exists, but no generation is live yet."""

    condition = "NOT_READY"


class ColumnNotFoundError(RequestError):
    condition = "COLUMN_NOT_FOUND"


class FilterError(RequestError):
    """A filter is invalid; ``position`` counts characters from 0."""

    condition = "FILTER_INVALID"

    def __init__(self, what: str, position: int) -> None:
        super().__init__(what)
        self.position = position


class FilterTooLongError(RequestError):
    condition = "FILTER_TOO_LONG"


class PageTooLargeError(RequestError):
    condition = "PAGE_TOO_LARGE"


class QueryTimeoutError(RequestError):
    condition = "QUERY_TIMEOUT"


class TooManyQueriesError(RequestError):
    condition = "TOO_MANY_QUERIES"


class TooManyViewsError(RequestError):
    condition = "TOO_MANY_VIEWS"


class TooManySubscriptionsError(RequestError):
    condition = "TOO_MANY_SUBSCRIPTIONS"


class SubscriptionExistsError(RequestError):
    condition = "SUBSCRIPTION_EXISTS"


class SubscriptionNotFoundError(RequestError):
    condition = "SUBSCRIPTION_NOT_FOUND"


class ControlReadOnlyError(EvertableError):
    condition = "CONTROL_READ_ONLY"


class NothingBeforeError(RequestError):
    condition = "NOTHING_BEFORE"
