"""After a crash of the JVM or the broker in mid-stream, nothing is lost or repeated, and no operator is needed."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest
from tests.engine.conftest import NewGeneration
from tests.engine.outcomes import assert_equals_reference, packed
from tests.engine.rig import Generation, have_committed, slowly, spark_jvm
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.positions import missing
from evertable.changelog.schema import Side, SourcePartition
from evertable.config import JoinType
from evertable.engine.committed import Ends, committed_in_checkpoint
from evertable.engine.process import Engine
from evertable.engine.protocol import Died, EngineEvent, EpochCommitted, Failed, Started


def last_commit(engine_events: list[EngineEvent], generation: Generation) -> Ends:
    """Returns the ends of the last reported commit."""
    reports = (
        event for event in engine_events if isinstance(event, EpochCommitted) and event.generation == generation.number
    )
    last: Ends = ({}, {})
    for report in reports:
        last = report.left, report.right
    return last


def follow_all(generations: list[Generation], done: Callable[[], bool]) -> None:
    for generation in generations:
        generation.read_until(done)


def test_kill_9_of_the_jvm_in_mid_stream_loses_and_repeats_nothing(
    engine: Engine, engine_events: list[EngineEvent], new_generation: NewGeneration, new_topic: Callable[..., str]
) -> None:
    """All four joins on the same topics, late rows included; killed while records flow, after a commit."""
    topics = (new_topic(3), new_topic(3))
    records = packed(200, number=42)
    third = len(records) // 3
    with ExitStack() as stack:
        generations = [stack.enter_context(new_generation(join, topics=topics)) for join in JoinType]
        first = generations[0]
        first.send(records[:third])
        for generation in generations:
            generation.start()
        follow_all(generations, lambda: have_committed(engine_events, generations))
        wait_until(
            lambda: all(
                last_commit(engine_events, one) == committed_in_checkpoint(one.built.spec) for one in generations
            )
        )
        sender = threading.Thread(target=first.send, args=(slowly(records[third:]),))
        sender.start()
        flowing = len(first.seen) + 50
        first.read_until(lambda: len(first.seen) > flowing)
        os.kill(spark_jvm(engine), signal.SIGKILL)
        sender.join()
        for join, generation in zip(JoinType, generations, strict=True):
            generation.sent = first.sent
            generation.read()
            assert_equals_reference(generation, join, random.Random(0))
    assert [type(event) for event in engine_events if isinstance(event, Died)] == [Died]
    assert sum(isinstance(event, Started) for event in engine_events) == 2 * len(JoinType)


@pytest.mark.parametrize("moment", ["before the barrier", "behind the barrier", "behind the commit"])
def test_kill_9_of_the_jvm_around_a_barrier(
    engine: Engine, engine_events: list[EngineEvent], new_generation: NewGeneration, moment: str
) -> None:
    """What was committed is complete in the changelog in any case, so that the generation could be resumed."""
    records, third = packed(90, number=len(moment)), 30
    interval_s = 5 if moment == "behind the commit" else 3_600
    with new_generation(JoinType.ASOF) as generation:
        generation.send(records[:third])
        spec = generation.build().built.spec
        engine.start(replace(spec, interval_s=interval_s))
        generation.read_until(lambda: generation.built.backlog.is_read(generation.positions))
        wait_until(lambda: any(last_commit(engine_events, generation)))
        sent = generation.send(records[third : 2 * third])
        generation.read()
        ends: dict[SourcePartition, int] = {}
        for side, partition, offset in sent:
            place = (Side(side), partition)
            ends[place] = max(ends.get(place, 0), offset + 1)
        if moment != "before the barrier":
            generation.read_until(lambda: not missing(ends, generation.positions.complete))
        if moment == "behind the commit":
            wait_until(lambda: not missing(ends, by_partition(last_commit(engine_events, generation))))
        os.kill(spark_jvm(engine), signal.SIGKILL)
        committed = by_partition(committed_in_checkpoint(spec))
        assert not missing(committed, generation.positions.complete)
        generation.send(records[2 * third :])
        generation.read()
        assert_equals_reference(generation, JoinType.ASOF, random.Random(0))


def by_partition(ends: Ends) -> dict[SourcePartition, int]:
    return {(side, partition): end for side in Side for partition, end in ends[side].items()}


def test_kill_9_of_the_broker_for_15_seconds_needs_no_operator(
    broker: EmbeddedBroker, engine_events: list[EngineEvent], new_generation: NewGeneration
) -> None:
    """Rows continue without help, whether the query survived the outage or failed."""
    records = packed(40, number=7)
    with new_generation(JoinType.NATURAL) as generation:
        generation.send(records[:200])
        generation.start().read()
        broker.kill()
        threading.Event().wait(15)  # the outage itself
        broker.start()
        generation.send(records[200:])
        generation.read()
        assert_equals_reference(generation, JoinType.NATURAL, random.Random(0))
    assert [event for event in engine_events if isinstance(event, Failed) and not event.retriable] == []
