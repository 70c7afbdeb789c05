"""The reference joins agree with small tables that were written by hand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.reference.joins import Row, join

from evertable.schema.joins import JoinType

ANN, BOB, ANN_AGAIN, NOBODY = Row(0, 0, 100, "ann"), Row(1, 0, 100, "bob"), Row(0, 1, 300, "ann"), Row(2, 0, 100, None)
USERS = [ANN, BOB, ANN_AGAIN, NOBODY]
EARLY, LATE, MIDDLE = Row(0, 0, 50, "ann"), Row(0, 1, 400, "ann"), Row(1, 0, 200, "ann")
EVES, ORPHAN = Row(2, 0, 500, "eve"), Row(2, 1, 500, None)
ACCOUNTS = [EARLY, LATE, MIDDLE, EVES, ORPHAN]


def ids(*pairs: tuple[Row | None, Row | None]) -> set[tuple[int | None, int | None]]:
    return {(left.id if left else None, right.id if right else None) for left, right in pairs}


ANNS = [(user, account) for user in (ANN, ANN_AGAIN) for account in (EARLY, LATE, MIDDLE)]


def test_inner_has_one_row_for_each_match() -> None:
    """Rows without a match, or without a key, are left out."""
    assert join(JoinType.INNER, USERS, ACCOUNTS) == ids(*ANNS)


def test_left_adds_the_left_rows_without_a_match() -> None:
    """Their right columns are null; their key may be null."""
    assert join(JoinType.LEFT, USERS, ACCOUNTS) == ids(*ANNS, (BOB, None), (NOBODY, None))


def test_natural_has_each_left_row_once_with_the_newest_right_row() -> None:
    """The newest row is the one with the greatest timestamp, not offset."""
    expected = ids((ANN, LATE), (ANN_AGAIN, LATE), (BOB, None), (NOBODY, None))
    assert join(JoinType.NATURAL, USERS, ACCOUNTS) == expected


def test_asof_has_each_right_row_once_with_the_left_row_of_its_time() -> None:
    """It is the newest left row that is not newer than the right row."""
    expected = ids((None, EARLY), (ANN_AGAIN, LATE), (ANN, MIDDLE), (None, EVES), (None, ORPHAN))
    assert join(JoinType.ASOF, USERS, ACCOUNTS) == expected


def test_asof_takes_a_left_row_of_the_same_time() -> None:
    """The timestamp of the left row may equal that of the right row."""
    assert join(JoinType.ASOF, [Row(0, 0, 7, "k")], [Row(0, 0, 7, "k")]) == {(0, 0)}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (Row(2, 9, 100, "k"), Row(0, 0, 101, "k")),  # a later timestamp wins
        (Row(1, 9, 100, "k"), Row(2, 0, 100, "k")),  # then a higher partition
        (Row(1, 8, 100, "k"), Row(1, 9, 100, "k")),  # then a higher offset
    ],
)
def test_newest_is_the_greatest_timestamp_partition_and_offset(older: Row, newer: Row) -> None:
    """Exactly one row is the newest, whatever the order of arrival."""
    user = Row(0, 0, 0, "k")
    account = Row(0, 0, 1000, "k")
    for rows in ([older, newer], [newer, older]):
        assert join(JoinType.NATURAL, [user], rows) == ids((user, newer))
        assert join(JoinType.ASOF, rows, [account]) == ids((newer, account))


@pytest.mark.parametrize("type_", JoinType)
@pytest.mark.parametrize(("key", "matches"), [("", True), (0, True), (False, True), (None, False)])
def test_null_is_the_only_value_that_never_matches(type_: JoinType, key: Any, matches: bool) -> None:
    """An empty string, zero and false are ordinary keys."""
    pairs = join(type_, [Row(0, 0, 0, key)], [Row(0, 0, 0, key)])
    assert ((0, 0) in pairs) == matches


@pytest.mark.parametrize("type_", JoinType)
def test_nothing_joined_with_nothing(type_: JoinType) -> None:
    """Empty topics make an empty table."""
    assert join(type_, [], []) == frozenset()
