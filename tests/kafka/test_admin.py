"""Admin clients behind a network that loses requests."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, TopicDescription
from tests.proxy import broker_behind_proxy

from evertable.kafka.admin import Admin
from evertable.kafka.topics import describe


def test_a_request_ends_in_time_although_another_thread_drops_the_client() -> None:
    """Two steps of a build share a client, and the first one that fails drops it."""
    with broker_behind_proxy() as (_, proxy):
        admin = Admin({"bootstrap.servers": proxy.bootstrap})
        with pytest.raises(KafkaException):  # there is no such topic, but now the client is connected
            describe(admin, "missing", 30)
        proxy.black_hole()
        sent, failures = threading.Event(), list[KafkaError]()

        def request(client: AdminClient) -> Mapping[str, Future[TopicDescription]]:
            answers: Mapping[str, Future[TopicDescription]]
            answers = client.describe_topics(TopicCollection(["missing"]), request_timeout=3)
            sent.set()
            return answers

        def ask() -> None:
            try:
                admin.ask(request, 30)["missing"].result()
            except KafkaException as problem:
                failures.append(problem.args[0])

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        sent.wait(30)
        admin.explain(KafkaException(KafkaError(KafkaError._TIMED_OUT)), "another")
        asking.join(20)
        assert [error.code() for error in failures] == [KafkaError._TIMED_OUT]


def test_a_request_that_is_never_answered_ends_by_its_own_deadline() -> None:
    """librdkafka's own deadline is the first; this one counts if librdkafka forgets a request."""
    admin = Admin({"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(KafkaException) as failure:
        admin.ask(lambda _: {"topic": Future[None]()}, 0)
    assert failure.value.args[0].code() == KafkaError._TIMED_OUT
