"""Threads for what takes longer than a moment: sorts, filters, encoding, so that the event loop stays free."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_WORKERS = 4  # they share the interpreter's lock with the event loop, so more would only slow it down


class Workers:
    """A few threads; work waits in line for one."""

    def __init__(self, count: int | None = None) -> None:
        count = count or min(MAX_WORKERS, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="evertable-worker")

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What ``work`` returns, called on one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: work(*args, **kwargs))

    async def close(self) -> None:
        """Waits for what is running; what still waits in line is dropped."""
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)
