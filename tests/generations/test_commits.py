"""Each commit of a query is reported with the end of its changelog, if it is still the same changelog."""

from __future__ import annotations

import threading

import pytest
from tests.waiting import wait_until

from evertable.changelog.resumption import ChangelogEnd
from evertable.generations.commits import Commits

BEFORE = ChangelogEnd("id", {0: 10})


@pytest.mark.parametrize("now", [ChangelogEnd("another", {0: 12}), ChangelogEnd("id", {0: 9})])
def test_a_changelog_that_was_recreated_or_truncated_is_a_failure(now: ChangelogEnd) -> None:
    """If its end were remembered, a resume would take it for complete."""
    answers, seen, failures = [BEFORE, now], list[ChangelogEnd](), list[Exception]()
    commits = Commits(lambda: answers.pop(0), lambda ends, end: seen.append(end), failures.append)
    commits.committed(({0: 1}, {}))
    wait_until(lambda: not answers[1:] and seen == [BEFORE])
    commits.committed(({0: 2}, {}))
    wait_until(lambda: bool(failures))
    assert seen == [BEFORE]
    assert "changelog" in str(failures[0])


def test_the_first_commit_of_a_resume_is_compared_with_its_start() -> None:
    failed = threading.Event()
    seen = list[ChangelogEnd]()
    now = ChangelogEnd("id", {0: 9})
    commits = Commits(lambda: now, lambda ends, end: seen.append(end), lambda error: failed.set(), BEFORE)
    commits.committed(({0: 2}, {}))
    assert failed.wait(30)
    assert not seen
