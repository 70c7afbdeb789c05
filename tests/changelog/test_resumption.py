"""A generation is resumed only from the same and complete changelog."""

from __future__ import annotations

import pytest

from evertable.changelog.resumption import ChangelogEnd, ResumeCheck, shortfall
from evertable.changelog.schema import Side
from evertable.errors import ChangelogError


@pytest.mark.parametrize(
    "now",
    [ChangelogEnd("a", {0: 10, 1: 5}), ChangelogEnd("a", {0: 12, 1: 5, 2: 1}), ChangelogEnd(None, {0: 10, 1: 5})],
)
def test_a_changelog_that_is_at_least_as_long_is_the_one_remembered(now: ChangelogEnd) -> None:
    assert shortfall(ChangelogEnd("a", {0: 10, 1: 5}), now) is None


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (ChangelogEnd("b", {0: 10, 1: 5}), "its id was a and is b"),
        (ChangelogEnd("a", {0: 10, 1: 4}), "ended at offset 5 of partition 1 and now ends at 4"),
        (ChangelogEnd("a", {1: 5}), "ended at offset 10 of partition 0 and now ends at 0"),
    ],
)
def test_another_or_a_shorter_changelog_is_not(now: ChangelogEnd, why: str) -> None:
    assert why in str(shortfall(ChangelogEnd("a", {0: 10, 1: 5}), now))


def test_a_changelog_must_be_read_to_its_end_and_show_what_was_committed() -> None:
    resumption = ResumeCheck(ChangelogEnd("a", {0: 3}), {(Side.RIGHT, 1): 7})
    assert not resumption.is_read({0: 2}, {(Side.RIGHT, 1): 8})
    assert resumption.is_read({0: 3}, {(Side.RIGHT, 1): 8})
    with pytest.raises(ChangelogError, match="partition 1 of the right topic, but the changelog has it up to offset 6"):
        resumption.is_read({0: 3}, {(Side.RIGHT, 1): 7})
