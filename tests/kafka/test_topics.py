"""Topics are created, found and deleted with the errors that operators need; without a broker."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Uuid

from evertable.errors import (
    EvertableError,
    KafkaUnreachableError,
    NotAuthorizedError,
    NotEnoughBrokersError,
    TopicExistsError,
    TopicNotFoundError,
)
from evertable.kafka import topics
from evertable.kafka.admin import Admin
from evertable.kafka.errors import ConnectionErrors
from evertable.kafka.topics import Topic

MISSING = KafkaError.UNKNOWN_TOPIC_OR_PART


def answer(outcome: object) -> dict[str, Future[Any]]:
    """Returns what an admin client returns for the topic ``users``; a code is an error."""
    future: Future[Any] = Future()
    if isinstance(outcome, int):
        future.set_exception(KafkaException(KafkaError(outcome)))
    else:
        future.set_result(outcome)
    return {"users": future}


def description(*partitions: int, topic_id: Uuid | None = None) -> SimpleNamespace:
    return SimpleNamespace(topic_id=topic_id, partitions=[SimpleNamespace(id=each) for each in partitions])


class FakeAdmin:
    """Answers each call with the next outcome, and the last one for good."""

    servers = "k:1"

    def __init__(self, *described: object, create: object = None, delete: object = None) -> None:
        self._described = list(described)
        self.client = SimpleNamespace(
            create_topics=lambda *_, **__: answer(create),
            delete_topics=lambda *_, **__: answer(delete),
            describe_topics=lambda *_, **__: answer(self._next()),
        )

    def _next(self) -> object:
        return self._described.pop(0) if len(self._described) > 1 else self._described[0]

    def ask(self, request: Callable[[Any], Any], _: float) -> Any:
        return request(self.client)

    def explain(self, problem: KafkaException, topic: str, right: str = "Describe") -> EvertableError:
        return ConnectionErrors({"bootstrap.servers": self.servers}).explain(problem.args[0], topic, right)

    def recovered(self) -> None:
        pass


def admin(*described: object, create: object = None, delete: object = None) -> Admin:
    return cast(Admin, FakeAdmin(*described, create=create, delete=delete))


def test_a_topic_has_an_id_and_sorted_partitions() -> None:
    assert topics.find(admin(description(1, 0, topic_id=Uuid(1, 2))), "users") == Topic(str(Uuid(1, 2)), (0, 1))


@pytest.mark.parametrize("topic_id", [None, Uuid(0, 0)])
def test_a_broker_without_ids(topic_id: Uuid | None) -> None:
    assert topics.topic_id(admin(description(0, topic_id=topic_id)), "users") is None


def test_a_missing_topic_is_waited_for_within_the_grace_period() -> None:
    assert topics.find(admin(MISSING, description(0)), "users", grace_s=60).partitions == (0,)
    with pytest.raises(TopicNotFoundError):
        topics.find(admin(MISSING), "users")


def test_creating_waits_until_brokers_show_all_partitions() -> None:
    client = admin(MISSING, description(0), description(0, 1))
    topics.create(client, "users", 2, 1, {}, 60)
    assert topics.find(client, "users").partitions == (0, 1)


def test_creating_gives_up_after_the_timeout() -> None:
    with pytest.raises(KafkaUnreachableError, match="still does not show 'users' with 1 partitions"):
        topics.create(admin(MISSING), "users", 1, 1, {}, 0.05)


@pytest.mark.parametrize(
    ("code", "replication", "error"),
    [
        (KafkaError.TOPIC_ALREADY_EXISTS, 1, TopicExistsError),
        (KafkaError.INVALID_REPLICATION_FACTOR, 3, NotEnoughBrokersError),
        (KafkaError.INVALID_REPLICATION_FACTOR, -1, KafkaUnreachableError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, 1, NotAuthorizedError),
    ],
)
def test_why_a_topic_cannot_be_created(code: int, replication: int, error: type[EvertableError]) -> None:
    """A replication of -1 is the broker's own choice, so changelog.replication is not to blame."""
    with pytest.raises(error):
        topics.create(admin(description(0), create=code), "users", 1, replication, {}, 1)


def test_deleting_waits_until_brokers_no_longer_show_the_topic() -> None:
    client = admin(description(0), MISSING)
    topics.delete(client, "users")
    with pytest.raises(TopicNotFoundError):
        topics.find(client, "users")


def test_deleting_a_missing_topic_does_nothing() -> None:
    topics.delete(admin(MISSING, delete=MISSING), "users")


def test_deleting_without_the_right() -> None:
    with pytest.raises(NotAuthorizedError, match="does not allow Delete on topic 'users'"):
        topics.delete(admin(description(0), delete=KafkaError.TOPIC_AUTHORIZATION_FAILED), "users")
