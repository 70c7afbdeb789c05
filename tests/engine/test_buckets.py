"""Buckets: rows of a key meet for any number of shuffle partitions of a session, now or later."""

from __future__ import annotations

from pathlib import Path

from tests.engine.conftest import NewGeneration
from tests.engine.rig import Sent
from tests.reference.fold import fold
from tests.waiting import wait_until

from evertable.changelog.schema import Side
from evertable.config import JoinType
from evertable.engine.committed import committed_in_checkpoint
from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine

KEYS = 200


def with_partitions(count: int, log: Path) -> Engine:
    spark = {"spark.sql.shuffle.partitions": str(count)}
    return Engine(EngineSettings(log=log, spark=spark))


def rows(side: Side) -> list[Sent]:
    return [Sent(side, f'{{"userId": "u{i}"}}'.encode(), i % 3) for i in range(KEYS)]


def test_a_query_continues_in_a_session_with_other_shuffle_partitions(
    new_generation: NewGeneration, tmp_path: Path
) -> None:
    """The number is in its checkpoint; with the session's, rows of a key would no longer meet."""
    generation = new_generation(JoinType.INNER)
    with with_partitions(3, tmp_path / "first.log") as engine:
        generation.engine = engine
        users = generation.send(rows(Side.LEFT))
        generation.start().read()
        ends = {p: 1 + max(o for _, q, o in users if q == p) for p in range(3)}
        wait_until(lambda: committed_in_checkpoint(generation.built.spec)[0] == ends, "a commit")
    with with_partitions(5, tmp_path / "second.log") as engine, generation:
        generation.engine = engine
        engine.start(generation.built.spec)
        generation.send(rows(Side.RIGHT))
        generation.read()
        assert len(fold(JoinType.INNER, generation.changes).pairs) == KEYS
