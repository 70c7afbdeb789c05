"""The clock that schedules the hub's rounds; tests replace it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is due at a time of its clock."""

    def when(self) -> float: ...
    def cancel(self) -> None: ...


class Clock(Protocol):
    """Seconds that have passed, and calls at later moments."""

    def time(self) -> float: ...
    def cpu_time(self) -> float: ...
    def call_at(self, when: float, callback: Callable[[], None]) -> Timer: ...


class LoopClock:
    """The clock of the event loop that runs, and of its thread's CPU time."""

    def time(self) -> float:
        return asyncio.get_running_loop().time()

    def cpu_time(self) -> float:
        return time.thread_time()

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_at(when, callback)
