"""Keys with too many matches, through Kafka and Spark."""

from __future__ import annotations

import os
import random
import signal
from dataclasses import replace

import pytest
from tests.engine.conftest import NewGeneration
from tests.engine.outcomes import packed
from tests.engine.rig import Generation, Sent, have_committed, spark_jvm
from tests.reference import histories
from tests.reference.fold import fold
from tests.reference.outcome import expected, outcome_of
from tests.reference.records import SourceRecord
from tests.waiting import wait_until

from evertable.changelog.schema import Side
from evertable.config import JoinType
from evertable.engine.process import Engine
from evertable.engine.protocol import EngineEvent

MOST = {JoinType.INNER: 6, JoinType.LEFT: 6, JoinType.NATURAL: 2, JoinType.ASOF: 2}


def start(generation: Generation, most: int | None = None) -> None:
    spec = generation.build().built.spec
    generation.engine.start(replace(spec, max_matches=most or MOST[spec.join]))


def assert_equals_reference(generation: Generation, join: JoinType, rng: random.Random) -> int:
    """Compares the changelog, as it was read and shuffled, with the reference; returns how many keys are hidden."""
    records = [
        (Side(side), SourceRecord(partition, offset, sent.timestamp, sent.value))
        for (side, partition, offset), sent in generation.sent.items()
    ]
    right = expected(join, histories.COLUMNS, (histories.KEY, histories.KEY), records, MOST[join])
    found = fold(join, generation.changes)
    assert outcome_of(found) == right
    again = [*generation.changes, *rng.choices(generation.changes, k=len(generation.changes))]
    rng.shuffle(again)
    assert outcome_of(fold(join, again)) == right
    return len(found.quarantined_keys)


@pytest.mark.parametrize("join", list(JoinType))
@pytest.mark.parametrize("trigger", ["realtime", "microbatch"])
def test_generated_histories_equal_the_reference(new_generation: NewGeneration, join: JoinType, trigger: str) -> None:
    records = packed(60, number=3)
    with new_generation(join, trigger) as generation:
        generation.send(records[: len(records) // 2])
        start(generation)
        generation.read()
        generation.send(records[len(records) // 2 :])
        generation.read()
        assert assert_equals_reference(generation, join, random.Random(join)) > 5


def test_a_replay_that_finds_out_earlier_or_later_hides_the_same_matches(
    engine: Engine, engine_events: list[EngineEvent], new_generation: NewGeneration
) -> None:
    """The JVM is killed between a commit and the quarantine of most keys, and after it."""
    records = packed(80, number=9)
    third = len(records) // 3
    with new_generation(JoinType.LEFT) as generation:
        generation.send(records[:third])
        start(generation)
        wait_until(lambda: have_committed(engine_events, [generation]))
        generation.send(records[third : 2 * third])
        generation.read()
        os.kill(spark_jvm(engine), signal.SIGKILL)
        generation.send(records[2 * third :])
        generation.read()
        assert assert_equals_reference(generation, JoinType.LEFT, random.Random(0)) > 5


@pytest.mark.parametrize("join", [JoinType.INNER, JoinType.ASOF])
def test_a_key_whose_state_is_a_tree(new_generation: NewGeneration, join: JoinType) -> None:
    """Thousands of rows, named in several records; other keys are joined as before."""
    hot, cold = b'{"userId": "hot"}', b'{"userId": "cold"}'
    with new_generation(join) as generation:
        generation.send(Sent(Side.LEFT, hot, i % 3) for i in range(300))
        start(generation, most=60_000 if join is JoinType.INNER else 6_000)
        generation.read()
        generation.send(Sent(Side.RIGHT, hot, i % 3) for i in range(7_000))
        generation.send([Sent(side, cold) for side in Side])
        generation.read()
        found = fold(join, generation.changes)
        assert found.quarantined_keys == {b"hot"}
        assert tuple(map(len, found.quarantined)) == (300, 7_000)
        assert len([pair for pair in found.joined if None not in pair]) == 1
