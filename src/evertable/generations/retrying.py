"""Retries steps that Kafka did not answer, after growing delays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from evertable.backoff import Delays, exponential
from evertable.errors import EvertableError, QueryFailedError
from evertable.kafka.errors import is_transient

ATTEMPT_S, MOST_S = 10.0, 30.0
"""How long Kafka may take to answer the first attempt, and at most at later ones."""

T = TypeVar("T")
Attempt = Callable[[int, float], T]
"""A step that takes the number of the attempt, from 1, and how long Kafka may take to answer."""


def _delays() -> Iterator[float]:
    return exponential(first_s=0.5, max_s=5.0)


def retried(
    step: Attempt[T],
    given_up: threading.Event,
    on_retry: Callable[[EvertableError], None],
    within_s: float = float("inf"),
    *,
    first_s: float = ATTEMPT_S,
    delays: Delays = _delays,
) -> T | None:
    """Attempts the step until Kafka answers, and returns its result; None once ``given_up`` is set.

    Raises an error that is not transient at once, and the last one when no further attempt fits into ``within_s``.
    """
    deadline = time.monotonic() + within_s
    for number, delay in enumerate(delays(), 1):
        if given_up.is_set():
            return None
        try:
            return step(number, min(number * first_s, MOST_S, max(0.1, deadline - time.monotonic())))
        except EvertableError as error:
            if given_up.is_set():
                return None
            if not is_transient(error) or time.monotonic() + delay >= deadline:
                raise
            on_retry(error)
        given_up.wait(delay)
    return None


def is_lasting(error: BaseException) -> bool:
    """Returns whether a build failed because of its topics, not because of a full disk or an unreachable Kafka."""
    condition = error.reason if isinstance(error, QueryFailedError) else getattr(error, "condition", "")
    return condition in ("TOPIC_NOT_FOUND", "NOT_AUTHORIZED", "RECORD_TOO_LARGE", "TIMESTAMP_OUT_OF_RANGE")
