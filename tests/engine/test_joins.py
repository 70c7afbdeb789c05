"""Every join, on generated histories, through Kafka and Spark: the folded changelog equals the reference."""

from __future__ import annotations

import random

import pytest
from tests.engine.conftest import NewGeneration
from tests.engine.outcomes import assert_equals_reference, packed
from tests.engine.rig import Sent

from evertable.changelog.schema import Side
from evertable.config import JoinType


@pytest.mark.parametrize("join", list(JoinType))
@pytest.mark.parametrize(("trigger", "partitions"), [("realtime", 3), ("microbatch", 3), ("realtime", 64)])
def test_the_folded_changelog_equals_the_reference(
    new_generation: NewGeneration, join: JoinType, trigger: str, partitions: int
) -> None:
    """Duplicates, null keys, late rows, equal timestamps, rejects between; half of it there before the start."""
    rng = random.Random(f"{join}{trigger}")
    records = [
        sent._replace(partition=(sent.partition + partitions * number // 7) % partitions)
        for number, sent in enumerate(packed(60, number=list(JoinType).index(join)))
    ]
    with new_generation(join, trigger, partitions) as generation:
        generation.send(records[: len(records) // 2])
        generation.start().read()
        generation.send(records[len(records) // 2 :])
        generation.read()
        assert_equals_reference(generation, join, rng)


@pytest.mark.parametrize("join", list(JoinType))
def test_the_empty_string_is_an_ordinary_key_and_null_is_none(new_generation: NewGeneration, join: JoinType) -> None:
    """Rows without a key pass through, equal to nobody; an empty key equals an empty key."""
    keys = [b'""', b"null", b'"a"']
    values = [*(b'{"userId": %s}' % key for key in keys), b"{}"]
    with new_generation(join, partitions=1) as generation:
        generation.send(
            Sent(side, value, timestamp=1_700_000_000_000 + i) for i, side in enumerate(Side) for value in values
        )
        generation.start().read()
        assert_equals_reference(generation, join, random.Random(0))
        assert sum(changes.matches.num_rows for changes in generation.changes) == 2


def test_a_late_left_row_revises_only_the_rows_it_takes_over(new_generation: NewGeneration) -> None:
    """An as-of match is written once for each row that changes: not again for those that keep theirs."""
    row = b'{"userId": "k"}'
    with new_generation(JoinType.ASOF, partitions=1) as generation:
        generation.start()
        for side, at in [(Side.LEFT, 10), (Side.LEFT, 20), *((Side.RIGHT, at) for at in (5, 15, 16, 25, 26))]:
            generation.send([Sent(side, row, timestamp=1_700_000_000_000 + at)])
            generation.read()
        generation.changes.clear()
        generation.send([Sent(Side.LEFT, row, timestamp=1_700_000_000_016)])
        generation.read()
        assert [pair for changes in generation.changes for pair in changes.matches.to_pylist()] == [
            {"left": 2, "right": 2, "order_ts": 1_700_000_000_016}
        ]
