"""Topics with many partitions, with partitions that come later, and more than one reader."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from tests.engine.conftest import NewGeneration
from tests.engine.outcomes import assert_equals_reference, packed
from tests.engine.rig import Sent, spark_jvm
from tests.sockets import connections, listening
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.schema import Side
from evertable.config import JoinType
from evertable.config.models import Engine as Section
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine
from evertable.engine.session import LOCAL_SLOTS

LONG_S = 3_600
"""An epoch that is longer than any test."""


def test_slots_and_connections_do_not_grow_with_partitions(
    broker: EmbeddedBroker, engine: Engine, new_generation: NewGeneration
) -> None:
    """One task and one consumer read 64 + 64 partitions."""
    port, jvm, used = int(broker.bootstrap.rpartition(":")[2]), spark_jvm(engine), []
    for partitions in (1, 64):
        wait_until(lambda: not connections(jvm, port), "no connection of an earlier query")
        free = engine.free_slots() or 0
        with new_generation(JoinType.INNER, partitions=partitions) as generation:
            generation.start()
            generation.send(Sent(side, b'{"userId": "k"}', p) for side in Side for p in range(partitions))
            generation.read()
            used.append((free - (engine.free_slots() or 0), len(connections(jvm, port))))
            assert sum(changes.matches.num_rows for changes in generation.changes) == partitions**2
    assert used[0] == used[1]
    assert used[1][0] == 1


def test_a_partition_that_is_created_later_is_read_in_the_same_epoch(
    broker: EmbeddedBroker, new_generation: NewGeneration
) -> None:
    """From its beginning, and for good: a restart of the query knows it."""
    with new_generation(JoinType.INNER, partitions=1) as generation:
        generation.send([Sent(Side.LEFT, b'{"userId": "k"}')])
        generation.build()
        spec = replace(generation.built.spec, interval_s=LONG_S)
        generation.engine.start(spec)
        generation.read()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_partitions([NewPartitions(spec.right.topic, 3)])[spec.right.topic].result()
        wait_until(lambda: len(admin.list_topics(spec.right.topic).topics[spec.right.topic].partitions) == 3)
        generation.send(Sent(Side.RIGHT, b'{"userId": "k"}', partition) for partition in range(3))
        generation.read()
        generation.engine.stop(generation.number)
        generation.engine.start(spec)
        generation.send(Sent(Side.RIGHT, b'{"userId": "k"}', partition) for partition in range(3))
        generation.read()
        assert_equals_reference(generation, JoinType.INNER, random.Random(0))


def test_spark_listens_on_loopback_only(engine: Engine, new_generation: NewGeneration) -> None:
    """With one reader nothing is shuffled, so that no port is open without authentication."""
    with new_generation(JoinType.LEFT, partitions=2) as generation:
        generation.send([Sent(side, b'{"userId": "k"}') for side in Side])
        generation.start().read()
        assert engine.pid is not None
        addresses = {address for pid in (engine.pid, spark_jvm(engine)) for address in listening(pid)}
        assert addresses
        assert {address for address in addresses if not address.is_loopback} == set()


@pytest.mark.parametrize("readers", [2, 3])
def test_several_readers_give_the_same_result(new_generation: NewGeneration, tmp_path: Path, readers: int) -> None:
    """Rows of a key meet in one bucket, whichever reader has read them; barriers come from all."""
    settings = EngineSettings.of(Section(readers=readers), tmp_path / "spark.log")
    generation = new_generation(JoinType.ASOF, partitions=4)
    with Engine(settings) as engine, generation:
        generation.engine = engine
        generation.send(packed(40, number=readers))
        generation.build()
        engine.start(replace(generation.built.spec, readers=readers))
        assert engine.free_slots() == LOCAL_SLOTS - 2 * readers
        generation.read_until(lambda: generation.built.backlog.is_read(generation.positions))
        generation.send(packed(20, number=7))
        generation.read()
        assert_equals_reference(generation, JoinType.ASOF, random.Random(0))
