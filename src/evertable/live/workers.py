"""Threads for sorts, filters and encoding, so that the event loop stays responsive."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from evertable.errors import QueryTimeoutError
from evertable.tables.table import Check

T = TypeVar("T")

MAX_BUSY = 4  # threads share the interpreter's lock with the event loop, so more would only slow it down
THREADS = min(MAX_BUSY, os.cpu_count() or 1) + 1  # one more than a single client may occupy


class _StoppedError(Exception):
    """Ends work that has been cancelled."""


@dataclass(eq=False)
class _Job:
    """A call to run on a thread: for which client, and until when."""

    client: str | None
    turn: asyncio.Future[None]
    timeout_s: float
    stopped: bool = False
    deadline_s: float = float("inf")

    def perform(self, work: Callable[[Check], T]) -> T:
        self.deadline_s = time.monotonic() + self.timeout_s
        self.check()
        return work(self.check)

    def check(self) -> None:
        if self.stopped:
            raise _StoppedError
        if time.monotonic() > self.deadline_s:
            raise QueryTimeoutError(
                f"The query took longer than {self.timeout_s:g} s and was stopped.",
                "Use a narrower filter or another sort, or raise server.query_timeout_s.",
            )


class Workers:
    """A few threads that clients share fairly. Not thread-safe: all calls come from the event loop.

    One client never occupies all threads. A thread that becomes free takes the next job of the client with the fewest
    running jobs. Jobs without a client are the server's own: they come before all others, and no share limits them.
    """

    def __init__(self, count: int = THREADS, timeout_s: float = float("inf")) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="evertable-worker")
        self._timeout_s = timeout_s
        self._free = count
        self._share = max(1, count - 1)
        self._queue: list[_Job] = []
        self._jobs: set[_Job] = set()
        self._busy: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        """The number of jobs on threads whose result is still wanted."""
        return sum(not job.stopped for job in tuple(self._jobs))

    def start(self, task: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts a task that uses the workers; it is cancelled when they close."""
        started = asyncio.get_running_loop().create_task(task)
        self._tasks.add(started)
        started.add_done_callback(self._tasks.discard)
        return started

    async def run(self, work: Callable[[Check], T], client: str | None = None, wait_s: float | None = None) -> T:
        """Runs ``work`` on a thread and returns its result.

        Work has to call the check it is given between bounded steps: it raises when this call is cancelled, and after
        the workers' timeout (QueryTimeoutError). Raises TimeoutError if no thread is free within ``wait_s``.
        """
        loop = asyncio.get_running_loop()
        job = _Job(client, loop.create_future(), self._timeout_s)
        self._queue.append(job)
        self._start_next()
        try:
            async with asyncio.timeout(wait_s):
                await job.turn
        except BaseException:
            if job in self._jobs:
                self._finished(job)
            elif job in self._queue:
                self._queue.remove(job)
            raise
        try:
            future = self._pool.submit(job.perform, work)
        except RuntimeError:  # closed meanwhile
            self._finished(job)
            raise
        future.add_done_callback(lambda _done: self._report(loop, job))
        try:
            return await asyncio.wrap_future(future)
        finally:
            job.stopped = True  # if this call was cancelled, the thread is still working

    async def close(self) -> None:
        """Cancels tasks, stops running jobs and waits for them; drops those that are queued."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for job in self._jobs:
            job.stopped = True
        for job in tuple(self._queue):
            job.turn.cancel()
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)

    def _start_next(self) -> None:
        while self._free:
            allowed = (job for job in self._queue if job.client is None or self._busy[job.client] < self._share)
            job = min(allowed, key=lambda job: -1 if job.client is None else self._busy[job.client], default=None)
            if job is None:
                return
            self._queue.remove(job)
            if job.turn.done():  # cancelled
                continue
            self._free -= 1
            self._jobs.add(job)
            if job.client is not None:
                self._busy[job.client] += 1
            job.turn.set_result(None)

    def _report(self, loop: asyncio.AbstractEventLoop, job: _Job) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(self._finished, job)

    def _finished(self, job: _Job) -> None:
        self._jobs.discard(job)
        self._free += 1
        if job.client is not None:
            self._busy -= Counter((job.client,))
        self._start_next()
