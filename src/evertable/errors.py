"""Every error Evertable raises on purpose, each with a stable condition and a next step.

EvertableError
├── ConfigError                CONFIG_INVALID          every problem of a configuration, with its path
├── SetupError
│   ├── JavaNotFoundError      JAVA_NOT_FOUND
│   ├── JavaTooOldError        JAVA_TOO_OLD
│   ├── JarsUnavailableError   JARS_UNAVAILABLE        a jar could not be resolved or downloaded
│   ├── JarChecksumError       JAR_CHECKSUM_MISMATCH   a jar is not the one that jars.lock names
│   └── OperatorError          OPERATOR_NOT_BUILT      the join operator is missing or does not compile
├── BrokerError                BROKER_FAILED           the embedded broker did not start or died
│   └── PortInUseError         PORT_IN_USE
├── KafkaUnreachableError      KAFKA_UNREACHABLE
│   └── KafkaAccessError
│       ├── NotTrustedError        BROKER_NOT_TRUSTED  its certificate is not accepted here
│       ├── NotAuthenticatedError  NOT_AUTHENTICATED   it does not accept who this is, or no token is to be had
│       └── NotAuthorizedError     NOT_AUTHORIZED      it knows who this is, and a right is missing
├── TopicNotFoundError         TOPIC_NOT_FOUND
├── TopicRecreatedError        TOPIC_RECREATED         it was made again while it was read for the first time
├── TopicExistsError           TOPIC_EXISTS            a topic that was to be made is there
├── NotEnoughBrokersError      NOT_ENOUGH_BROKERS      fewer than a topic is to be kept on
├── NoGuessError               NO_GUESS                topics that no configuration can be guessed from
├── EngineError                ENGINE_FAILED           the engine process did not start or died
│   ├── NotEnoughSlotsError    NOT_ENOUGH_SLOTS
│   └── QueryFailedError       QUERY_FAILED            one generation's query stopped with an error
├── NotEnoughMemoryError       NOT_ENOUGH_MEMORY       another generation does not fit
├── ChangelogError             CHANGELOG_FORMAT        a record that this version cannot read
├── StateFormatError           STATE_FORMAT            a state topic that this version cannot use
├── AppRunningError            APP_RUNNING             the app to be started is running already
├── AppNotFoundError           APP_NOT_FOUND           the app to be forgotten has no topics and no files
├── FencedError                FENCED                  another orchestrator of the same app took over
├── ControlReadOnlyError       CONTROL_READ_ONLY       the control topic may not be written to
└── RequestError                                       what a viewer asked for cannot be met: docs/PROTOCOL.md
    ├── TableNotFoundError         TABLE_NOT_FOUND
    ├── NotReadyError              NOT_READY               the name is known, but no generation is live yet
    ├── ColumnNotFoundError        COLUMN_NOT_FOUND
    ├── FilterError                FILTER_INVALID          with the position in the filter
    ├── FilterTooLongError         FILTER_TOO_LONG
    ├── PageTooLargeError          PAGE_TOO_LARGE
    ├── QueryTimeoutError          QUERY_TIMEOUT           a sort, filter or page took longer than it may
    ├── TooManyQueriesError        TOO_MANY_QUERIES        as many different sorts and filters as there may be
    ├── TooManyViewsError          TOO_MANY_VIEWS          as many different views as there may be
    ├── TooManySubscriptionsError  TOO_MANY_SUBSCRIPTIONS
    ├── SubscriptionExistsError    SUBSCRIPTION_EXISTS
    ├── SubscriptionNotFoundError  SUBSCRIPTION_NOT_FOUND
    └── NothingBeforeError         NOTHING_BEFORE          there is no wiring to roll back to

What can go wrong between a client and its server is in ``client/errors.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class EvertableError(Exception):
    """What happened, to what, and what to do next; ``condition`` is stable and safe to match on."""

    condition: ClassVar[str] = "EVERTABLE_ERROR"

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step

    @property
    def sentences(self) -> str:
        """What happened, and what to do next."""
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
    """Something that Evertable needs on this machine is missing or wrong."""

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
    """Kafka does not do what is asked of it for now; whoever asked tries again, for it may be mended there."""

    condition = "KAFKA_UNREACHABLE"


class KafkaAccessError(KafkaUnreachableError):
    """Kafka answers, but one side does not accept the other: somebody has to mend that."""


class NotTrustedError(KafkaAccessError):
    condition = "BROKER_NOT_TRUSTED"


class NotAuthenticatedError(KafkaAccessError):
    condition = "NOT_AUTHENTICATED"


class NotAuthorizedError(KafkaAccessError):
    """Names the resource and the right that is missing."""

    condition = "NOT_AUTHORIZED"


class TopicRecreatedError(EvertableError):
    condition = "TOPIC_RECREATED"


class TopicNotFoundError(EvertableError):
    """``topic`` is the one that is missing; ``each`` has an error for each, where there are several."""

    condition = "TOPIC_NOT_FOUND"

    def __init__(
        self, what: str, next_step: str = "", *, topic: str = "", each: Sequence[TopicNotFoundError] = ()
    ) -> None:
        super().__init__(what, next_step)
        self.topic = topic
        self.each = tuple(each) or (self,)

    @classmethod
    def of(cls, each: Sequence[TopicNotFoundError]) -> TopicNotFoundError:
        """One error that tells of all of them."""
        if len(each) == 1:
            return each[0]
        *others, last = each
        what = " ".join([*(other.sentences for other in others), last.what])
        return cls(what, last.next_step, topic=each[0].topic, each=each)


class TopicExistsError(EvertableError):
    condition = "TOPIC_EXISTS"


class NotEnoughBrokersError(EvertableError):
    """A topic cannot be kept as many times as changelog.replication says."""

    condition = "NOT_ENOUGH_BROKERS"

    def __init__(self, topic: str, replication: int, said: str) -> None:
        super().__init__(
            f"The topic '{topic}' cannot be kept {replication} times: {said}.",
            "Set changelog.replication to at most the number of brokers.",
        )


class NoGuessError(EvertableError):
    condition = "NO_GUESS"


class EngineError(EvertableError):
    condition = "ENGINE_FAILED"


class NotEnoughSlotsError(EngineError):
    """A generation needs more Spark task slots than are free; names both numbers."""

    condition = "NOT_ENOUGH_SLOTS"

    def __init__(self, needed: int, free: int) -> None:
        super().__init__(
            f"The generation needs {needed} Spark task slots and {free} are free.",
            "Give the engine more (engine.master, e.g. local[512]), or retire a generation first.",
        )
        self.needed = needed
        self.free = free


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
    condition = "CHANGELOG_FORMAT"


class StateFormatError(EvertableError):
    condition = "STATE_FORMAT"


class AppRunningError(EvertableError):
    condition = "APP_RUNNING"


class AppNotFoundError(EvertableError):
    condition = "APP_NOT_FOUND"


class FencedError(EvertableError):
    condition = "FENCED"


class RequestError(EvertableError):
    """What a viewer asked for cannot be met; others are not touched by it."""

    condition = "REQUEST_INVALID"


class TableNotFoundError(RequestError):
    condition = "TABLE_NOT_FOUND"


class NotReadyError(RequestError):
    condition = "NOT_READY"


class ColumnNotFoundError(RequestError):
    condition = "COLUMN_NOT_FOUND"


class FilterError(RequestError):
    """A filter that cannot be read or does not fit; ``position`` counts characters from 0."""

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
