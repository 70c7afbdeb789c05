"""Workers: work stops when nobody waits for it or when it takes too long, and clients share the threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from tests.live.clock import settle
from tests.live.watchers import run, wait_until

from evertable.errors import QueryTimeoutError
from evertable.live.workers import Workers
from evertable.tables.table import Check


def endless(check: Check) -> None:
    while True:
        check()


def with_workers(count: int, scenario: Callable[[Workers], Awaitable[None]], timeout_s: float = 60) -> None:
    async def whole() -> None:
        workers = Workers(count, timeout_s)
        try:
            await scenario(workers)
        finally:
            await workers.close()

    run(whole)


class Held:
    """Work that blocks its thread until it is released."""

    def __init__(self) -> None:
        self.began = 0
        self.go = threading.Event()

    def __call__(self, _check: Check) -> None:
        self.began += 1
        assert self.go.wait(60)


def test_work_stops_when_nobody_waits_for_it() -> None:
    async def scenario(workers: Workers) -> None:
        waiting = asyncio.create_task(workers.run(endless))
        await wait_until(lambda: workers.running)
        waiting.cancel()
        await wait_until(lambda: not workers.running)
        assert await workers.run(lambda _check: 5) == 5

    with_workers(1, scenario)


def test_work_stops_at_its_deadline() -> None:
    async def scenario(workers: Workers) -> None:
        with pytest.raises(QueryTimeoutError, match=r"longer than 0.05 s .* server.query_timeout_s"):
            await workers.run(endless)
        assert await workers.run(lambda _check: 5) == 5

    with_workers(1, scenario, timeout_s=0.05)


def test_closing_stops_what_runs_and_drops_what_waits() -> None:
    async def scenario(workers: Workers) -> None:
        running, waiting = (asyncio.create_task(workers.run(endless)) for _ in range(2))
        await wait_until(lambda: workers.running)
        await workers.close()
        await asyncio.wait({running, waiting})
        assert waiting.cancelled()

    with_workers(1, scenario)


def test_one_client_never_occupies_all_threads() -> None:
    async def scenario(workers: Workers) -> None:
        held = Held()
        greedy = [asyncio.create_task(workers.run(held, "greedy")) for _ in range(5)]
        await wait_until(lambda: held.began == 2)
        for _ in range(10):
            assert await workers.run(lambda _check: 5, "other") == 5
        assert held.began == 2
        held.go.set()
        await asyncio.gather(*greedy)
        assert (held.began, workers.running) == (5, 0)

    with_workers(3, scenario)


def test_the_client_with_the_least_running_work_goes_first() -> None:
    """Clients that queued more do not delay it; the server's own work is first."""

    async def scenario(workers: Workers) -> None:
        held = {client: Held() for client in "abd"}
        done = list[str | None]()
        holding = [asyncio.create_task(workers.run(work, client)) for client, work in held.items()]
        await wait_until(lambda: all(work.began for work in held.values()))

        async def note(client: str | None) -> None:
            await workers.run(lambda _check: done.append(client), client)

        noting = [asyncio.create_task(note(client)) for client in ("a", "a", "c", None)]
        await settle()  # all of them are queued
        held["b"].go.set()
        await asyncio.gather(*noting)
        assert done == [None, "c", "a", "a"]
        for work in held.values():
            work.go.set()
        await asyncio.gather(*holding)

    with_workers(3, scenario)


def test_work_that_gets_no_thread_in_time_is_dropped() -> None:
    async def scenario(workers: Workers) -> None:
        held = Held()
        holding = asyncio.create_task(workers.run(held, "a"))
        await wait_until(lambda: held.began)
        with pytest.raises(TimeoutError):
            await workers.run(lambda _check: 5, "b", wait_s=0.01)
        held.go.set()
        await holding
        assert await workers.run(lambda _check: 5, "b", wait_s=30) == 5

    with_workers(1, scenario)
