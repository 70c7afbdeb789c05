"""When the hub's rounds run, by a clock that tests replace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

MAX_LOAD = 0.6
"""The share of the event loop's time that rounds and sends may take; ticks get longer rather than take more."""
NEVER = float("inf")


class Clock:
    """The clock of the event loop that runs, and of its thread's CPU time."""

    def time(self) -> float:
        return asyncio.get_running_loop().time()

    def cpu_time(self) -> float:
        return time.thread_time()

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_at(when, callback)


class RoundTimer:
    """Starts a planned round at once if the last one is more than a tick ago, else when the tick is over.

    It is later if rounds and the sends they cause would take too much of the event loop.
    """

    def __init__(self, start_round: Callable[[], None], tick_s: float, clock: Clock) -> None:
        self._start_round = start_round
        self._tick_s = tick_s
        self._clock = clock
        self._last_s = self._last_cpu_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._is_postponed = self._is_closed = False

    def started(self) -> float:
        """Notes that a round starts, planned or not; returns the time."""
        self._last_s, self._last_cpu_s = self._clock.time(), self._clock.cpu_time()
        return self._last_s

    def plan(self, when: float) -> None:
        """Plans a round for that time, unless there is one before it."""
        when = max(when, self._last_s + self._tick_s)
        if when == NEVER or self._is_closed or self._is_postponed or (self._timer and self._timer.when() <= when):
            return
        if self._timer:
            self._timer.cancel()
        self._timer = self._clock.call_at(when, self._tick)

    def close(self) -> None:
        self._is_closed = True
        if self._timer:
            self._timer.cancel()

    def _tick(self) -> None:
        busy = self._clock.cpu_time() - self._last_cpu_s
        free = self._last_s + busy / MAX_LOAD
        self._is_postponed = not self._is_postponed and free > self._clock.time()
        if self._is_postponed:  # only once: a loop that is always busy must not keep rounds from running
            self._timer = self._clock.call_at(free, self._tick)
        else:
            self._timer = None
            self._start_round()
