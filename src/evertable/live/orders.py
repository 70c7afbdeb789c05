"""Orders: sorted or filtered tables, computed on workers and shared by all views with one query."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import structlog

from evertable.errors import QueryTimeoutError
from evertable.live.workers import Workers
from evertable.tables.table import Check, Slots, Table, never
from evertable.views.query import BoundQuery, Query

MIN_INTERVAL_S = 0.05
"""An order is not computed more often than this."""
REST_FACTOR = 10
"""An order rests for this many times its cost before it is computed again: it takes a tenth of a core at most."""
SHARED_REST_FACTOR = 2
"""And for this many times the cost of all orders: together they take half a core at most."""

log = structlog.get_logger()


@dataclass(eq=False)
class Order:
    """The rows of a table that a query shows, in order: to its views what the extent is to a view by arrival."""

    name: str
    table: Table
    query: Query
    bound: BoundQuery
    slots: Slots = field(default_factory=lambda: np.empty(0, np.int64))
    number: int = 0
    """Grows with each computation; 0 before the first."""
    version: int = -1
    """The table's version at the last computation."""
    cost_s: float = 0.0
    """How long the last computation took."""
    due_s: float = 0.0
    task: asyncio.Task[None] | None = None
    """The computation that runs."""
    client: str | None = None
    """The client whose share of the workers it takes: the first that subscribed."""
    failure: QueryTimeoutError | None = None
    """Why it is not computed any more."""

    @property
    def is_computed(self) -> bool:
        return self.number > 0

    def window(self, offset: int, limit: int) -> tuple[int, Slots, int]:
        """Returns the number of the last computation, the slots of a page, and the total; any thread may call it."""
        number, slots = self.number, self.slots
        return number, slots[offset : offset + limit], len(slots)

    def compute(self, check: Check = never) -> tuple[Slots, int, float]:
        """Returns the slots, the table's version and the seconds it took; runs on a worker.

        It sorts and filters the whole table. Only this method knows how slots come about: an order could as well be
        brought up to date from the last slots and what was written since ``version``.
        """
        start = perf_counter()
        snapshot = self.table.snapshot()
        return self.bound.order(snapshot, check), snapshot.extent.version, perf_counter() - start


class Orders:
    """The orders in use. Not thread-safe: all calls come from the event loop. ``on_done`` follows each computation."""

    def __init__(self, workers: Workers, on_done: Callable[[], None], time: Callable[[], float]) -> None:
        self._workers = workers
        self._on_done = on_done
        self._time = time
        self._orders: dict[tuple[int, Query], Order] = {}
        self._prepared: set[Order] = set()

    def __len__(self) -> int:
        return len(self._orders)

    def order_for(self, name: str, table: Table, query: Query, bound: BoundQuery, client: str | None = None) -> Order:
        """Returns the order of a query on a table; all callers share it."""
        key = (id(table), query)
        if (order := self._orders.get(key)) is None:
            order = self._orders[key] = Order(name, table, query, bound, client=client)
        return order

    def refresh(self, now: float) -> float:
        """Starts the computations that are due; returns when the next one is (infinity if none is)."""
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
        """Drops all orders but these, and cancels their computations."""
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
        """Computes the orders of the queries in use for tables that are about to be published.

        After ``timeout_s`` the flip does not wait for the others; until they are computed, their viewers keep the
        page they have.
        """
        for (name, query), client in in_use.items():
            if name in tables:
                bound = query.bind(tables[name].columns, missing_ok=True)
                if not bound.plain:
                    self._prepared.add(self.order_for(name, tables[name], query, bound, client))
        try:
            waiting = [order for order in self._prepared if not order.is_computed and order.failure is None]
            computing = [order.task or self._start(order) for order in waiting]
            if computing:
                await asyncio.wait(computing, timeout=timeout_s)
            yield
        finally:
            self._prepared.clear()

    def _start(self, order: Order) -> asyncio.Task[None]:
        order.task = self._workers.start(self._compute(order))
        return order.task

    async def _compute(self, order: Order) -> None:
        order.cost_s = MIN_INTERVAL_S
        try:
            slots, version, order.cost_s = await self._workers.run(order.compute, order.client)
            order.slots, order.version, order.number = slots, version, order.number + 1
        except QueryTimeoutError as error:  # sent to its viewers as an error
            order.failure = error
            log.warning(
                "Sorting or filtering took too long; its viewers get an error",
                table=order.name,
                sort=order.query.sort,
                client=order.client,
            )
        except Exception:  # its viewers keep their pages, and the next refresh tries again
            log.exception(
                "Could not sort or filter a table; retrying at its next refresh",
                table=order.name,
                sort=order.query.sort,
            )
        finally:
            order.task = None
            all_s = sum(each.cost_s for each in self._orders.values())
            order.due_s = self._time() + max(MIN_INTERVAL_S, REST_FACTOR * order.cost_s, SHARED_REST_FACTOR * all_s)
        self._on_done()
