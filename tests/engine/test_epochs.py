"""When an epoch ends: by the clock, and the first one as soon as it has read what the topics held at the build."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from tests.engine.conftest import NewGeneration
from tests.engine.rig import Generation, Sent
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.schema import Side
from evertable.config import JoinType
from evertable.engine.protocol import EngineEvent, EpochCommitted

LONG_S = 3_600
"""An epoch that no test sees end by the clock."""


def start_long(generation: Generation) -> None:
    generation.build()
    generation.engine.start(replace(generation.built.spec, interval_s=LONG_S))


def commits(heard: list[EngineEvent], generation: Generation) -> list[EpochCommitted]:
    return [event for event in heard if isinstance(event, EpochCommitted) and event.generation == generation.number]


def users(count: int, partition: int) -> list[Sent]:
    return [Sent(Side.LEFT, b'{"userId": "u%d"}' % i, partition) for i in range(count)]


@pytest.mark.parametrize("right", [0, 7])
def test_the_first_epoch_ends_with_what_the_topics_held(
    heard: list[EngineEvent], new_generation: NewGeneration, right: int
) -> None:
    """In all partitions, empty ones among them, and only the first: a second commit would take an hour."""
    with new_generation(JoinType.INNER, partitions=3) as generation:
        generation.send(users(500, 0) + users(3, 2))
        generation.send(Sent(Side.RIGHT, b'{"userId": "u1"}', 1) for _ in range(right))
        start_long(generation)
        wait_until(lambda: commits(heard, generation))
        assert commits(heard, generation)[0].left == {0: 500, 1: 0, 2: 3}
        assert commits(heard, generation)[0].right == {0: 0, 1: right, 2: 0}
        generation.send(users(2, 1))
        generation.read()
        assert len(commits(heard, generation)) == 1


def test_a_query_that_is_resumed_commits_what_came_meanwhile_and_goes_on(
    heard: list[EngineEvent], new_generation: NewGeneration
) -> None:
    """Also where nothing came at all: its first epoch is empty, and there is no second such one."""
    with new_generation(JoinType.INNER, partitions=1) as generation:
        generation.send(users(5, 0))
        start_long(generation)
        wait_until(lambda: commits(heard, generation))
        for _ in range(2):
            generation.engine.stop(generation.number)
            heard.clear()
            generation.engine.start(replace(generation.built.spec, interval_s=LONG_S))
            wait_until(lambda: commits(heard, generation))
            generation.send(users(1, 0))
            generation.read()
            assert len(commits(heard, generation)) == 1


@pytest.mark.parametrize("trigger", ["realtime", "microbatch"])
def test_topics_without_a_record_are_committed_too(
    heard: list[EngineEvent], new_generation: NewGeneration, trigger: str
) -> None:
    """A generation is shown once it has committed something; empty ones are no exception."""
    with new_generation(JoinType.INNER, trigger, partitions=2) as generation:
        generation.start()
        wait_until(lambda: commits(heard, generation))
        assert commits(heard, generation)[0].left == {0: 0, 1: 0}


def test_the_first_epoch_ends_behind_markers_of_transactions(
    broker: EmbeddedBroker, heard: list[EngineEvent], new_generation: NewGeneration, new_topic: Callable[..., str]
) -> None:
    """A topic that ends in what is no record: nobody waits for one to come."""
    topics = (new_topic(1), new_topic(1))
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topics[0]})
    producer.init_transactions()
    for commit in (True, False):
        producer.begin_transaction()
        producer.produce(topics[0], b'{"userId": "u1"}')
        producer.flush()
        producer.commit_transaction() if commit else producer.abort_transaction()
    with new_generation(JoinType.LEFT, topics=topics) as generation:
        start_long(generation)
        wait_until(lambda: commits(heard, generation))
        generation.read_until(lambda: generation.seen == {(0, 0, 0)})
