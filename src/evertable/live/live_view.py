"""Live views: one page for all subscribers of the same part of the same table, computed once.

A :class:`LiveView` knows no socket and no clock. Its rows come by arrival, or as its ``Order`` has them; ``evaluate``
reads those of its page, ``apply`` makes them the current page, and ``CurrentPage`` encodes pages and patches.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evertable.errors import QueryTimeoutError
from evertable.live.batches import HeavyPageError, read_in_batches
from evertable.live.current_page import CurrentPage, Subscription, Update
from evertable.live.orders import Order, Orders
from evertable.protocol.answers import Stamp
from evertable.protocol.page import PageRows, Row
from evertable.protocol.values import rows_of
from evertable.schema.columns import Column
from evertable.tables.catalog import Publication
from evertable.tables.table import Check, Extent, Mask, Slots, Table
from evertable.views.query import Query, columns_of
from evertable.views.view import View

LARGE_PAGE = 1_000
"""Pages with more rows than this are evaluated on a worker."""


def stamp_of(publication: Publication, version: int) -> Stamp:
    return Stamp(publication.number, version, publication.generation)


@dataclass(frozen=True)
class Binding:
    """A view of one publication's table: the columns it has there, and the order if it sorts or filters."""

    publication: Publication
    table: Table
    columns: tuple[int, ...]
    missing: tuple[str, ...]
    order: Order | None

    @property
    def shown_columns(self) -> list[Column]:
        return [self.table.columns[column] for column in self.columns]


@dataclass(frozen=True)
class TableChanges:
    """What changed in a table since a version, read once for all views of the table."""

    publication: Publication
    since: int
    extent: Extent
    written: Sequence[int] | None
    stamp: Stamp

    @classmethod
    def read(cls, publication: Publication, table: Table, since: int) -> TableChanges:
        with table.lock:
            extent = table.extent
            written = [] if extent.version == since else table.written(since)
        return cls(publication, since, extent, written, stamp_of(publication, extent.version))


@dataclass(frozen=True)
class ViewResult:
    """What a binding shows at one version."""

    binding: Binding
    extent: Extent
    order_number: int
    slots: Slots
    total: int
    rows: PageRows
    cost_s: float
    """CPU time of the evaluation."""


@dataclass(eq=False)
class Schedule:
    """When the hub evaluates a view next."""

    not_before: float = 0.0
    cost_s: float = 0.0
    """Cost of the last evaluation; the lower of two in a row counts, as one may include a garbage collection."""
    total_sent_s: float = 0.0
    is_total_pending: bool = False
    failures: int = 0
    """In a row."""
    task: asyncio.Task[None] | None = None
    """The evaluation that runs on a worker."""
    has_late_subscribers: bool = False
    """Whether a subscriber has seen a later stamp in another view, and waits until this one reaches it."""


class LiveView:
    """A view of the table behind one public name, with its current page."""

    def __init__(self, name: str, view: View, query: Query) -> None:
        self.name, self.view, self.query = name, view, query
        self.page = CurrentPage(name, view.offset)
        self.subscribers: set[Subscription] = set()
        self.schedule = Schedule()
        self.page_failure: QueryTimeoutError | None = None
        """Why its page cannot be evaluated."""
        self._result: ViewResult | None = None
        """What the current page shows."""
        self._slot_range: tuple[int, int] | None = None
        """The first and the last slot on it."""
        self._next_binding: Binding | None = None

    @property
    def binding(self) -> Binding | None:
        """The binding of the current page; None before the name's first table."""
        return self._result.binding if self._result else None

    @property
    def orders(self) -> set[Order]:
        """The orders that it uses, or will use as soon as they are computed."""
        bindings = (self.binding, self._next_binding)
        return {binding.order for binding in bindings if binding is not None and binding.order is not None}

    @property
    def failure(self) -> QueryTimeoutError | None:
        """Why it is not kept up to date any more; its subscriptions end with this error."""
        return self.page_failure or next((order.failure for order in self.orders if order.failure), None)

    @property
    def client(self) -> str | None:
        """The address of one of its subscribers."""
        return next((subscription.client for subscription in self.subscribers), None)

    def bind(self, publication: Publication, orders: Orders) -> Binding | None:
        """Returns the binding to evaluate; None while there is no table, or while its order is not computed.

        Until then the page of the publication before stays the current one.
        """
        if self.binding and self.binding.publication is publication:
            return self.binding
        table = publication.tables.get(self.name)
        if table is None:
            return None
        if self._next_binding is None or self._next_binding.publication is not publication:
            bound = self.query.bind(table.columns, missing_ok=True)
            columns, missing = columns_of(self.view, table.columns, missing_ok=True)
            order = None if bound.plain else orders.order_for(self.name, table, self.query, bound, self.client)
            lacking = tuple(dict.fromkeys((*missing, *bound.missing)))
            self._next_binding = Binding(publication, table, columns, lacking, order)
        order = self._next_binding.order
        return self._next_binding if order is None or order.is_computed else None

    def is_current(self, binding: Binding) -> bool:
        """Whether nothing has changed since the last evaluation."""
        result, number = self._result, binding.order.number if binding.order else 0
        if result is None or result.binding is not binding or result.order_number != number:
            return False
        return self.page.stamp.version == binding.table.extent.version

    def evaluate(self, binding: Binding, check: Check | None = None) -> ViewResult:
        """Returns what the binding shows.

        May run on any thread. A worker passes ``check``, which is called between steps. Without it, as on the event
        loop, a page that would take long raises HeavyPageError.
        """
        if check is None and self.view.limit > LARGE_PAGE:
            raise HeavyPageError
        start = time.thread_time()
        last = self._result if self._result and self._result.binding is binding else None
        before = self.page.rows if last else None
        view, table, order = self.view, binding.table, binding.order
        with table.lock:
            extent = table.extent
            if order is None:
                number, slots, total = 0, extent.window(view.offset, view.limit, view.newest_first), extent.total
            else:
                number, slots, total = order.window(view.offset, view.limit)
                slots = slots[slots >= extent.first]  # the table may have dropped some
            lacking = np.ones(len(slots), bool) if before is None else self._lacking(before, table, slots)
            if before and last and not lacking.any() and np.array_equal(slots, last.slots):
                return ViewResult(binding, extent, number, slots, total, before, 0.0)
            taken = read_in_batches(table, slots[lacking], binding.columns, check)
        read = [row for batch in taken for row in rows_of(batch, binding.shown_columns)]
        rows = _merged(before, slots, lacking, read)
        return ViewResult(binding, extent, number, slots, total, rows, time.thread_time() - start)

    def _lacking(self, before: PageRows, table: Table, slots: Slots) -> Mask:
        """Returns which rows have to be read: those new on the page, and those written since."""
        known = set(before.keys)
        lacking = np.array([slot not in known for slot in slots.tolist()], bool)
        lacking |= table.changed(slots, self.page.stamp.version)
        return lacking

    def fast_forward(self, changes: TableChanges) -> Update | None:
        """Brings the view up to date without an evaluation; returns None if the changes may show on its page.

        With many views of one table this is what most of them need most of the time, so it must cost next to nothing.
        """
        result, page = self._result, self.page
        if result is None or (binding := result.binding).order is not None:
            return None
        version = page.stamp.version
        if binding.publication is not changes.publication or version < changes.since:
            return None
        if changes.written is None or self._moves(result.extent, changes.extent):
            return None
        if version >= changes.extent.version:
            return Update.NONE  # evaluated since
        if (written := changes.written) and self._slot_range:
            first, last = self._slot_range
            at = bisect_left(written, first)
            if at < len(written) and written[at] <= last:
                return None
        return page.move(changes.stamp, changes.extent.total)

    def _moves(self, before: Extent, now: Extent) -> bool:
        """Whether growing from one extent to the other puts other slots on the page."""
        if now.first != before.first:
            return True
        full = before.total >= self.view.offset + self.view.limit
        return now.total != before.total and (self.view.newest_first or not full)

    def apply(self, result: ViewResult) -> Update:
        """Makes a result the current page; returns what that changes for subscribers."""
        binding = result.binding
        swap = binding is not self.binding
        if swap:
            self._next_binding = None
        self._result = result
        self._slot_range = (int(result.slots.min()), int(result.slots.max())) if len(result.slots) else None
        stamp = stamp_of(binding.publication, result.extent.version)
        return self.page.show(stamp, result.total, result.rows, binding.shown_columns, binding.missing, swap)

    def reset(self) -> None:
        """Releases the current page, its table and its order."""
        self.page.reset()
        self.page_failure = self._next_binding = self._result = None


def _merged(before: PageRows | None, slots: Slots, lacking: Mask, read: Sequence[Row]) -> PageRows:
    """Returns a page's rows: those that were read, and the others as they were before."""
    fresh = PageRows.of(slots[lacking].tolist(), read)
    if before is None or lacking.all():
        return fresh
    rows = dict(zip(before.keys, zip(before.values, before.json, strict=True), strict=True))
    rows.update(zip(fresh.keys, zip(fresh.values, fresh.json, strict=True), strict=True))
    keys = slots.tolist()
    values, json = zip(*(rows[key] for key in keys), strict=True)
    return PageRows(keys, values, json)
