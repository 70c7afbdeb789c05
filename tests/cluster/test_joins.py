"""Every join on a cluster: the folded changelog equals the reference, as in local mode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cluster.generations import joins
from tests.engine.outcomes import packed
from tests.engine.rig import Sent

from evertable.broker import EmbeddedBroker
from evertable.changelog.schema import Side
from evertable.engine.process import Engine

FAR = 2**62
"""A timestamp that overflows in microseconds."""


def test_all_joins_equal_the_reference(
    broker: EmbeddedBroker, new_topic: Callable[..., str], engine: Engine, tmp_path: Path
) -> None:
    """Half of the records are sent before the start; two readers and two matchers are on any of the executors."""
    records = packed(60, number=1)
    any_time = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    topics = (new_topic(3, **any_time), new_topic(3, **any_time))
    with joins(broker.bootstrap, topics, engine, tmp_path) as all_joins:
        all_joins.send(records[: len(records) // 2])
        for generation in all_joins.all:
            generation.start()
        all_joins.read()
        all_joins.send([*records[len(records) // 2 :], *(Sent(side, b"{}", timestamp=FAR) for side in Side)])
        all_joins.read()
        all_joins.assert_equal_reference()
        for generation in all_joins.all:
            reasons = [reason.split(":")[0] for reason in generation.rejects.values()]
            assert reasons.count("TIMESTAMP_OUT_OF_RANGE") == len(Side)
