"""Work on daemon threads, which never delay the end of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


def run_in_background(work: Callable[[], T], name: str = "evertable-background") -> Future[T]:
    """Runs ``work`` on a daemon thread of its own."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


def run_concurrently(*work: Callable[[], T]) -> list[T]:
    """Runs all of these at the same time and waits for all, then raises the first error if there was one."""
    jobs = [run_in_background(each) for each in work]
    wait(jobs)
    return [job.result() for job in jobs]
