"""An epoch ends by the clock, and the first one as soon as it has read the backlog."""

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
"""An epoch that is longer than any test."""


def start_long(generation: Generation) -> None:
    generation.build()
    generation.engine.start(replace(generation.built.spec, interval_s=LONG_S))


def commits(engine_events: list[EngineEvent], generation: Generation) -> list[EpochCommitted]:
    return [
        event for event in engine_events if isinstance(event, EpochCommitted) and event.generation == generation.number
    ]


def users(count: int, partition: int) -> list[Sent]:
    return [Sent(Side.LEFT, b'{"userId": "u%d"}' % i, partition) for i in range(count)]


@pytest.mark.parametrize("right", [0, 7])
def test_the_first_epoch_ends_with_what_the_topics_held(
    engine_events: list[EngineEvent], new_generation: NewGeneration, right: int
) -> None:
    """In all partitions, also empty ones, and only the first epoch does: a second commit would take an hour."""
    with new_generation(JoinType.INNER, partitions=3) as generation:
        generation.send(users(500, 0) + users(3, 2))
        generation.send(Sent(Side.RIGHT, b'{"userId": "u1"}', 1) for _ in range(right))
        start_long(generation)
        wait_until(lambda: commits(engine_events, generation))
        assert commits(engine_events, generation)[0].left == {0: 500, 1: 0, 2: 3}
        assert commits(engine_events, generation)[0].right == {0: 0, 1: right, 2: 0}
        generation.send(users(2, 1))
        generation.read()
        assert len(commits(engine_events, generation)) == 1


def test_a_resumed_query_commits_new_records_and_continues(
    engine_events: list[EngineEvent], new_generation: NewGeneration
) -> None:
    """If nothing arrived, its first epoch is empty, and there is no second empty one."""
    with new_generation(JoinType.INNER, partitions=1) as generation:
        generation.send(users(5, 0))
        start_long(generation)
        wait_until(lambda: commits(engine_events, generation))
        for _ in range(2):
            generation.engine.stop(generation.number)
            engine_events.clear()
            generation.engine.start(replace(generation.built.spec, interval_s=LONG_S))
            wait_until(lambda: commits(engine_events, generation))
            generation.send(users(1, 0))
            generation.read()
            assert len(commits(engine_events, generation)) == 1


@pytest.mark.parametrize("trigger", ["realtime", "microbatch"])
def test_topics_without_a_record_are_committed_too(
    engine_events: list[EngineEvent], new_generation: NewGeneration, trigger: str
) -> None:
    """A generation is shown after its first commit, also if it is empty."""
    with new_generation(JoinType.INNER, trigger, partitions=2) as generation:
        generation.start()
        wait_until(lambda: commits(engine_events, generation))
        assert commits(engine_events, generation)[0].left == {0: 0, 1: 0}


def test_the_first_epoch_ends_behind_markers_of_transactions(
    broker: EmbeddedBroker,
    engine_events: list[EngineEvent],
    new_generation: NewGeneration,
    new_topic: Callable[..., str],
) -> None:
    """The last offset of such a topic is not a record, and is not waited for."""
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
        wait_until(lambda: commits(engine_events, generation))
        generation.read_until(lambda: generation.seen == {(0, 0, 0)})
