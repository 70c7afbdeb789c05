"""Waits for what may take any time at a start, and gives up when the shutdown begins."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from evertable.control.topic import ControlTopic
from evertable.errors import KafkaUnreachableError
from evertable.kafka.outages import WarningThrottle
from evertable.shutdown import Shutdown

RETRY_S = 2.0
POLL_S = 0.05

T = TypeVar("T")


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

    def until_there(self, topic: ControlTopic) -> None:
        """Returns once the control topic exists; it is created if that is allowed."""
        warnings = WarningThrottle()
        while not self._shutdown.begun:
            try:
                topic.ensure()
            except KafkaUnreachableError as error:
                if warnings.due(str(error)):
                    self._report("WARN", f"{error} Trying again.")
                self._shutdown.wait(RETRY_S)
            else:
                if warnings.over():
                    self._report("INFO", f"The control topic '{topic.name}' is there now")
                return
        raise StoppedError
