"""A clock that only tests advance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from evertable.live.clock import Clock

REAL_TIMEOUT_S = 30
PAUSE_S = 0.001


class ManualTimer(asyncio.TimerHandle):
    def __init__(self, clock: ManualClock, due: float, callback: Callable[[], None]) -> None:
        super().__init__(due, callback, (), asyncio.get_running_loop())
        self.clock, self.due, self.callback = clock, due, callback

    def cancel(self) -> None:
        if self in self.clock.timers:
            self.clock.timers.remove(self)

    def run(self) -> None:
        self.clock.now = max(self.clock.now, self.due)
        self.cancel()
        self.callback()


class ManualClock(Clock):
    """Timers run when ``advance`` or ``until`` passes them."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.cpu_s = 0.0
        self.timers: list[ManualTimer] = []

    def time(self) -> float:
        return self.now

    def cpu_time(self) -> float:
        return self.cpu_s

    def call_at(self, when: float, callback: Callable[[], None]) -> ManualTimer:
        timer = ManualTimer(self, when, callback)
        self.timers.append(timer)
        return timer

    async def advance(self, seconds: float) -> None:
        """Advances the time, and runs all timers that become due."""
        end = self.now + seconds
        await settle()
        while (timer := self._next()) and timer.due <= end:
            timer.run()
            await settle()
        self.now = end

    async def until(self, condition: Callable[[], object]) -> None:
        """Runs timer after timer until the condition holds, and waits for worker threads meanwhile."""
        async with asyncio.timeout(REAL_TIMEOUT_S):
            await settle()
            while not condition():
                if timer := self._next():
                    timer.run()
                    await settle()
                else:
                    await asyncio.sleep(PAUSE_S)

    def _next(self) -> ManualTimer | None:
        return min(self.timers, key=ManualTimer.when, default=None)


async def settle() -> None:
    """Lets callbacks that are ready run, and those that they schedule."""
    for _ in range(3):
        await asyncio.sleep(0)
