"""Orders: sorted or filtered tables, computed off the event loop and shared by all views of one query."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from evertable.errors import QueryTimeoutError
from evertable.live.workers import Workers
from evertable.tables.pieces import Check, never
from evertable.tables.table import Slots, Table
from evertable.views.query import BoundQuery, Query

MIN_INTERVAL_S = 0.05
"""An order is not computed more often than that."""
REST_FACTOR = 10
"""So many times its cost an order rests before it is computed again: a tenth of one core at most."""
SHARED_REST_FACTOR = 2
"""And so many times the cost of all orders: half a core at most for all of them."""

log = structlog.get_logger()


@dataclass(eq=False)
class Order:
    """Which rows of a table a query shows, in which order; ``slots`` is None until it is first computed."""

    name: str
    table: Table
    query: Query
    bound: BoundQuery
    slots: Slots | None = None
    number: int = 0
    """Grows each time it is computed."""
    version: int = -1
    """Of the table, when it was computed last."""
    cost_s: float = 0.0
    """What computing it took last."""
    due_s: float = 0.0
    task: asyncio.Task[None] | None = None
    """That computes it now."""

    client: str | None = None
    """Whose share of the workers it takes: that of the first who asked for it."""
    failure: QueryTimeoutError | None = None
    """Why it is not computed any more."""

    def compute(self, check: Check = never) -> tuple[Slots, int, float]:
        """The slots, the table's version, and the seconds it took; runs on a worker."""
        start = time.perf_counter()
        snapshot = self.table.snapshot()
        return self.bound.order(snapshot, check), snapshot.extent.version, time.perf_counter() - start


class Orders:
    """The orders that are in use. For the event loop's thread; ``on_done`` is called when one was computed."""

    def __init__(self, workers: Workers, on_done: Callable[[], None]) -> None:
        self._workers = workers
        self._on_done = on_done
        self._orders: dict[tuple[int, Query], Order] = {}
        self._prepared: set[Order] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._orders)

    def order_for(self, name: str, table: Table, query: Query, bound: BoundQuery, client: str | None = None) -> Order:
        """The order of that query on that table, the same one for all who ask."""
        key = (id(table), query)
        if (order := self._orders.get(key)) is None:
            order = self._orders[key] = Order(name, table, query, bound, client=client)
        return order

    def refresh(self, now: float) -> float:
        """Starts computing what is due, and says when the next one will be (infinity: none)."""
        soonest = float("inf")
        for order in self._orders.values():
            if order.task is not None or order.failure is not None or order.version == order.table.extent.version:
                continue
            if order.due_s <= now:
                self._start(order)
            else:
                soonest = min(soonest, order.due_s)
        return soonest

    def retain(self, used: set[Order]) -> None:
        """Forgets all orders but these; what is in line to be computed for nobody is dropped."""
        used = used | self._prepared
        for key, order in tuple(self._orders.items()):
            if order not in used:
                del self._orders[key]
                if order.task is not None:
                    order.task.cancel()

    @asynccontextmanager
    async def prepared(
        self, in_use: Mapping[tuple[str, Query], str | None], tables: Mapping[str, Table], timeout_s: float
    ) -> AsyncIterator[None]:
        """Computes the queries in use on tables that their names will show, so that a flip finds them ready.

        Those that take longer come after the flip; until then their viewers see what they saw before.
        """
        for (name, query), client in in_use.items():
            if name in tables:
                bound = query.bind(tables[name].columns, missing_ok=True)
                if not bound.plain:
                    self._prepared.add(self.order_for(name, tables[name], query, bound, client))
        try:
            waiting = [order for order in self._prepared if order.slots is None and order.failure is None]
            computing = [order.task or self._start(order) for order in waiting]
            if computing:
                await asyncio.wait(computing, timeout=timeout_s)
            yield
        finally:
            self._prepared.clear()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, order: Order) -> asyncio.Task[None]:
        order.task = task = asyncio.get_running_loop().create_task(self._compute(order))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _compute(self, order: Order) -> None:
        order.cost_s = MIN_INTERVAL_S
        try:
            slots, version, order.cost_s = await self._workers.run(order.compute, order.client)
            order.slots, order.version, order.number = slots, version, order.number + 1
        except QueryTimeoutError as error:  # its viewers get it as an error
            order.failure = error
            log.warning("order_timed_out", table=order.name, sort=order.query.sort, client=order.client)
        except Exception:  # its viewers keep what they see, and it is tried again
            log.exception("order_failed", table=order.name, sort=order.query.sort)
        finally:
            order.task = None
            all_s = sum(each.cost_s for each in self._orders.values())
            order.due_s = asyncio.get_running_loop().time() + max(
                MIN_INTERVAL_S, REST_FACTOR * order.cost_s, SHARED_REST_FACTOR * all_s
            )
        self._on_done()
