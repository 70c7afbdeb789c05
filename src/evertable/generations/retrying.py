"""Retries steps that Kafka did not answer, and waits for what may take any time at a start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from evertable.backoff import Delays, exponential
from evertable.errors import EvertableError, KafkaUnreachableError, QueryFailedError
from evertable.kafka.errors import is_transient
from evertable.kafka.outages import WarningThrottle
from evertable.shutdown import Shutdown

ATTEMPT_S, MOST_S = 10.0, 30.0
"""How long Kafka may take to answer the first attempt, and at most at later ones."""
RETRY_S = 2.0
POLL_S = 0.05

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
    return condition in ("TOPIC_NOT_FOUND", "NOT_AUTHORIZED", "RECORD_TOO_LARGE")


class StoppedError(Exception):
    """The shutdown began while something was waited for."""


class Patience:
    """Repeats steps until they succeed, and reports why they do not. Every method may raise StoppedError."""

    def __init__(self, shutdown: Shutdown, report: Callable[[str, str], None]) -> None:
        self._shutdown = shutdown
        self._report = report

    def until_kafka_answers(self, step: Callable[[], T], meanwhile: Future[Any] | None = None) -> T:
        """Returns what the step returns once Kafka can be reached.

        If ``meanwhile`` fails, its error is raised: there is no use in waiting for Kafka then.
        """
        warnings = WarningThrottle()
        while not self._shutdown.begun:
            try:
                result = step()
            except KafkaUnreachableError as error:
                if warnings.due(str(error)):
                    self._report("WARN", f"{error} Trying again.")
                self._shutdown.wait(RETRY_S)
                if meanwhile is not None and meanwhile.done():
                    meanwhile.result()
            else:
                if warnings.over():
                    self._report("INFO", "Kafka answers now")
                return result
        raise StoppedError

    def until_done(self, work: Future[T]) -> T:
        """Returns the result of work that runs on another thread."""
        while not work.done():
            if self._shutdown.wait(POLL_S):
                raise StoppedError
        return work.result()
