"""A step that Kafka did not answer is retried until the deadline, or until it is given up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from evertable.errors import (
    EvertableError,
    KafkaUnreachableError,
    NotAuthorizedError,
    QueryFailedError,
    TopicNotFoundError,
)
from evertable.generations.retrying import ATTEMPT_S, MOST_S, is_lasting, retried
from evertable.kafka.errors import is_transient

AWAY = KafkaUnreachableError("Kafka does not answer.")


def at_once() -> Iterator[float]:
    while True:
        yield 0.0


def failing(*errors: Exception) -> tuple[Callable[[int, float], str], list[tuple[int, float]]]:
    """A step that raises these, one at each attempt, and then succeeds; and its attempts."""
    attempts: list[tuple[int, float]] = []

    def step(number: int, timeout_s: float) -> str:
        attempts.append((number, timeout_s))
        if number <= len(errors):
            raise errors[number - 1]
        return "done"

    return step, attempts


def test_only_an_unanswered_call_is_transient() -> None:
    assert is_transient(AWAY)
    assert not is_transient(NotAuthorizedError("It does not allow this."))
    assert not is_transient(TopicNotFoundError("There is none.", topic="users"))
    assert not is_transient(ValueError())


def test_each_attempt_is_reported_and_has_more_time_than_the_one_before() -> None:
    step, attempts = failing(AWAY, AWAY, AWAY, AWAY)
    reported: list[EvertableError] = []
    assert retried(step, threading.Event(), reported.append, delays=at_once) == "done"
    assert reported == [AWAY] * 4
    assert attempts == [(1, ATTEMPT_S), (2, 2 * ATTEMPT_S), (3, MOST_S), (4, MOST_S), (5, MOST_S)]


def test_an_error_that_is_not_transient_is_raised_at_once() -> None:
    step, attempts = failing(NotAuthorizedError("It does not allow this."))
    with pytest.raises(NotAuthorizedError):
        retried(step, threading.Event(), lambda error: None, delays=at_once)
    assert len(attempts) == 1


def test_the_last_error_is_raised_when_there_is_no_time_for_another_attempt() -> None:
    step, attempts = failing(AWAY)
    with pytest.raises(KafkaUnreachableError, match="does not answer"):
        retried(step, threading.Event(), lambda error: None, within_s=5, delays=lambda: iter([10.0]))
    assert attempts[0][1] <= 5


def test_nothing_is_attempted_once_it_is_given_up() -> None:
    """That includes the wait between attempts: here it is an hour."""
    given_up = threading.Event()
    step, attempts = failing(AWAY, AWAY)
    assert retried(step, given_up, lambda error: given_up.set(), delays=lambda: iter([3600.0] * 3)) is None
    assert len(attempts) == 1
    assert retried(step, given_up, lambda error: None) is None
    assert len(attempts) == 1


def test_only_problems_of_the_topics_are_lasting() -> None:
    """A full disk is no reason to fall back to other topics."""
    assert is_lasting(TopicNotFoundError("users_v9"))
    assert is_lasting(QueryFailedError("It did not start.", reason="TOPIC_NOT_FOUND"))
    assert not is_lasting(QueryFailedError("No space left on device."))
    assert not is_lasting(AWAY)
    assert not is_lasting(OSError("a bug"))
