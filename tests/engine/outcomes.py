"""The expected outcome of a real generation's changelog, by the reference."""

from __future__ import annotations

import random

from tests.engine.rig import Generation, Sent
from tests.reference import histories
from tests.reference.fold import fold
from tests.reference.outcome import Outcome, expected, outcome_of
from tests.reference.records import SourceRecord

from evertable.changelog.schema import Side
from evertable.config import JoinType


def packed(count: int, number: int) -> list[Sent]:
    """Merges many histories into one stream; prefixes keep their keys apart."""
    together = histories.packed(histories.sampled(count, number))
    return [Sent(sent.side, sent.value, sent.partition, sent.timestamp) for sent in together]


def reference(generation: Generation, join: JoinType) -> Outcome:
    """Computes the outcome of all records that were sent, wherever Kafka put them."""
    records = [
        (Side(side), SourceRecord(partition, offset, sent.timestamp, sent.value))
        for (side, partition, offset), sent in generation.sent.items()
    ]
    return expected(join, histories.COLUMNS, (histories.KEY, histories.KEY), records)


def assert_equals_reference(generation: Generation, join: JoinType, rng: random.Random) -> None:
    """Folds the changelog in the order read, then shuffled and with repeats; both must equal the reference."""
    right = reference(generation, join)
    assert outcome_of(fold(join, generation.changes)) == right
    again = [*generation.changes, *rng.choices(generation.changes, k=len(generation.changes))]
    rng.shuffle(again)
    assert outcome_of(fold(join, again)) == right
