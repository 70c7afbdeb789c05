"""A folded changelog equals the reference, whatever the order of source records, changelog records and repeats."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.fold import fold
from tests.reference.histories import COLUMNS, KEY, History, histories, packed, placed, sampled
from tests.reference.operator import ModelOperator
from tests.reference.outcome import Outcome, expected, outcome_of

from evertable.changelog.decode import Decoder
from evertable.changelog.schema import ChangelogSchema
from evertable.schema.joins import JoinType

KEYS = (KEY, KEY)


def folded(schema: ChangelogSchema, records: list[bytes], size: int) -> Outcome:
    batches = (records[at : at + size] for at in range(0, len(records), size))
    return outcome_of(fold(schema.join, map(Decoder(schema).decode, batches)))


@pytest.mark.parametrize("type_", JoinType)
@settings(max_examples=250)
@given(history=histories(), random=st.randoms(use_true_random=False), size=st.integers(1, 9))
def test_any_order_and_any_repeats_give_the_same_tables(
    type_: JoinType, history: History, random: Random, size: int
) -> None:
    """An operator processes the records in two orders, as after a crash; its output is read shuffled, with repeats."""
    schema = ChangelogSchema(*COLUMNS, type_)
    records = placed(history)
    should = expected(type_, COLUMNS, KEYS, records)
    written = []
    for _ in range(2):
        written += ModelOperator(schema, KEYS).run(random.sample(records, len(records)))
    assert folded(schema, written, size) == should
    again = random.choices(written, k=5) if written else []
    assert folded(schema, random.sample(written, len(written)) + again, size) == should


@pytest.mark.parametrize("type_", JoinType)
def test_the_order_of_sending_does_not_matter(type_: JoinType) -> None:
    """Each history is processed as sent, one side after the other, and in reverse."""
    schema = ChangelogSchema(*COLUMNS, type_)
    for history in sampled(50):
        records = placed(history)
        should = expected(type_, COLUMNS, KEYS, records)
        for order in (records, sorted(records, key=lambda r: r[0]), sorted(records, key=lambda r: -r[0])):
            assert folded(schema, ModelOperator(schema, KEYS).run(order), 1000) == should


def test_sampled_histories_are_many_and_always_the_same() -> None:
    """Tests that send many histories at once use them."""
    some = sampled(60, number=3)
    assert some == sampled(60, number=3)
    assert len(set(some)) >= 50
    assert {sent.junk for history in some for sent in history} > {None}


def test_histories_can_share_a_topic() -> None:
    """Their keys have different prefixes, so they do not match."""
    some = sampled(20)
    alone = sum(len(expected(JoinType.INNER, COLUMNS, KEYS, placed(history)).joined) for history in some)
    together = packed(some)
    assert len(together) == sum(map(len, some))
    assert len(expected(JoinType.INNER, COLUMNS, KEYS, placed(together)).joined) == alone
