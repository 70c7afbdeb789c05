"""The end of an app: one deadline that all of its waits share, and work that nobody has to wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

WITHIN_S = 7.0
"""How long a stop may take, whatever does not answer; the server's own end comes behind it."""

T = TypeVar("T")


class Ending:
    """Begun once, by whoever stops the app; from then on no wait takes longer than what is left."""

    def __init__(self, within_s: float = WITHIN_S) -> None:
        self._within_s = within_s
        self._deadline = float("inf")
        self._begun = threading.Event()

    def begin(self) -> None:
        """From any thread, or a signal's handler; the first time counts."""
        if not self._begun.is_set():
            self._deadline = time.monotonic() + self._within_s
            self._begun.set()

    @property
    def begun(self) -> bool:
        return self._begun.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Whether it has begun, at the latest after ``timeout_s``."""
        return self._begun.wait(timeout_s)

    def left(self, most_s: float = WITHIN_S) -> float:
        """How long something may be waited for: ``most_s``, or less once it has begun."""
        return max(0.0, min(most_s, self._deadline - time.monotonic()))


def in_background(work: Callable[[], T], name: str = "evertable-background") -> Future[T]:
    """Runs it on a thread that keeps no process from ending."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


def concurrently(*work: Callable[[], T]) -> list[T]:
    """Runs all of these at once and waits for all; then raises the first error, if there is one."""
    jobs = [in_background(each) for each in work]
    wait(jobs)
    return [job.result() for job in jobs]
