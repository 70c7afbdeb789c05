"""Row ids contain a partition and an offset, sort like the two, and are never negative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.changelog.encoder import row_id

from evertable.changelog.ids import MAX_OFFSET, MAX_PARTITION, has_row_id, partition_and_offset, row_ids

places = st.tuples(st.integers(0, MAX_PARTITION), st.integers(0, MAX_OFFSET))


@given(places)
def test_an_id_contains_its_partition_and_offset(place: tuple[int, int]) -> None:
    """The two functions are inverses, for one record."""
    assert partition_and_offset(row_id(*place)) == place


@given(st.lists(places))
def test_many_ids_at_once_are_the_same_as_one_by_one(drawn: list[tuple[int, int]]) -> None:
    """What the decoder computes for arrays is what the encoder computes for one record."""
    partitions, offsets = np.array(drawn, np.int64).reshape(-1, 2).T
    ids = row_ids(partitions, offsets)
    assert has_row_id(partitions, offsets).all()
    assert ids.tolist() == [row_id(*place) for place in drawn]
    assert list(zip(*map(np.ndarray.tolist, partition_and_offset(ids)), strict=True)) == drawn


@given(places, places)
def test_ids_sort_by_partition_and_offset(one: tuple[int, int], other: tuple[int, int]) -> None:
    """The order by which joins choose a match relies on it."""
    assert (row_id(*one) < row_id(*other)) == (one < other)


def test_the_greatest_id_is_the_greatest_signed_number() -> None:
    """19 and 44 bits do not use the sign bit."""
    assert row_id(MAX_PARTITION, MAX_OFFSET) == 2**63 - 1


@pytest.mark.parametrize(("partition", "offset"), [(524_288, 0), (0, 2**44), (-1, 0), (0, -1)])
def test_records_outside_of_the_range_have_no_id(partition: int, offset: int) -> None:
    """They become rejects; an id is never truncated."""
    assert has_row_id(np.array([0, partition]), np.array([0, offset])).tolist() == [True, False]
    with pytest.raises(ValueError, match=f"partition {partition}, offset {offset}"):
        row_id(partition, offset)
