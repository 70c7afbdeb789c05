"""Live views: one page for all subscribers of the same part of the same table, computed once.

A :class:`LiveView` knows no socket and no clock. ``evaluate`` computes what a publication shows now, ``apply`` makes
that the current page, and ``frame_for`` returns what a subscription has not been sent of it.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from evertable.errors import QueryTimeoutError
from evertable.live.batches import read_in_batches
from evertable.live.orders import Order, Orders
from evertable.protocol.answers import Stamp, total_tail
from evertable.protocol.page import PageRows, Row, page_tail
from evertable.protocol.patch import diff, patch_tail
from evertable.protocol.values import rows_of
from evertable.schema.columns import Column
from evertable.tables.catalog import Publication
from evertable.tables.table import Check, Extent, Mask, Slots, Table
from evertable.views.query import Query, columns_of
from evertable.views.view import View

LARGE_PAGE = 1_000
"""Pages with more rows than this are evaluated on a worker."""

BEGINNING = Stamp(0, 0)


class Update(Enum):
    """What changed for the subscribers of a view."""

    NONE = 0
    TOTAL = 1
    PAGE = 2


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
        stamp = Stamp(publication.number, extent.version, publication.generation)
        return cls(publication, since, extent, written, stamp)


@dataclass(frozen=True)
class ViewResult:
    """What a binding shows at one version; ``rows`` is None if they are those of the current page."""

    binding: Binding
    extent: Extent
    order_number: int
    slots: Slots
    total: int
    rows: PageRows | None
    cost_s: float
    """CPU time of the evaluation."""


@dataclass(frozen=True)
class FrameTail:
    """A frame without its prefix, and the total that it contains."""

    kind: str
    data: bytes
    total: int


@dataclass(eq=False)
class Subscription:
    """One subscriber of a view: how to notify it, and what it has been sent."""

    id: str
    tag: int
    on_update: Callable[[Subscription], None]
    min_stamp: Stamp = BEGINNING
    """The stamp of the page that it was sent by another view: no earlier page may follow."""
    page_number: int = 0
    """The number of the last page that was sent."""
    sent_total: int = -1
    notified_s: float | None = None
    """When it was notified of an update that it has not taken yet."""
    client: str | None = None
    """Its address."""
    replaced_views: tuple[tuple[int, View], ...] = ()
    """Tag and view of those that it replaced before they had a page: what to return to if this view fails."""

    def notify(self, now: float) -> None:
        if self.notified_s is None:
            self.notified_s = now
        self.on_update(self)


@dataclass(eq=False)
class LiveView:
    """A view of the table behind one public name, with its current page."""

    name: str
    view: View
    query: Query
    subscribers: set[Subscription] = field(default_factory=set)
    total: int = 0
    stamp: Stamp = BEGINNING
    page_failure: QueryTimeoutError | None = None
    """Why its page cannot be evaluated."""
    _binding: Binding | None = None
    _next_binding: Binding | None = None
    _result: ViewResult | None = None
    _version: int = 0
    _page_range: tuple[int, int] | None = None
    _rows: PageRows | None = None
    _page_number: int = 0
    _previous_rows: PageRows | None = None
    _page_tail: FrameTail | None = None
    _page_stamp: Stamp = BEGINNING
    _patch_tail: FrameTail | None = None

    @property
    def is_large(self) -> bool:
        return self.view.limit > LARGE_PAGE

    @property
    def binding(self) -> Binding | None:
        """The binding of the current page; None before the name's first table."""
        return self._binding

    @property
    def orders(self) -> set[Order]:
        """The orders that it uses, or will use as soon as they are computed."""
        bindings = (self._binding, self._next_binding)
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
        if self._binding and self._binding.publication is publication:
            return self._binding
        table = publication.tables.get(self.name)
        if table is None:
            return None
        if self._next_binding is None or self._next_binding.publication is not publication:
            bound = self.query.bind(table.columns, missing_ok=True)
            columns, missing = columns_of(self.view, table.columns, missing_ok=True)
            order = None if bound.plain else orders.order_for(self.name, table, self.query, bound, self.client)
            lacking = tuple(dict.fromkeys((*missing, *bound.missing)))
            self._next_binding = Binding(publication, table, columns, lacking, order)
        is_computed = self._next_binding.order is None or self._next_binding.order.slots is not None
        return self._next_binding if is_computed else None

    def is_current(self, binding: Binding) -> bool:
        """Whether nothing has changed since the last evaluation."""
        result, number = self._result, binding.order.number if binding.order else 0
        if result is None or result.binding is not binding or result.order_number != number:
            return False
        return self._version == binding.table.extent.version

    def evaluate(self, binding: Binding, check: Check | None = None) -> ViewResult | None:
        """Returns what the binding shows; None if nothing has changed since the last evaluation.

        May run on any thread. A worker passes ``check``, which is called between steps. Without it, as on the event
        loop, a page that would take long raises HeavyPageError.
        """
        start = time.thread_time()
        last = self._result if self._result and self._result.binding is binding else None
        before = self._rows if last else None
        table, order = binding.table, binding.order
        number = order.number if order else 0
        with table.lock:
            extent = table.extent
            if last and self._version == extent.version and last.order_number == number:
                return None
            slots, total = self._slots(extent, order)
            lacking = np.ones(len(slots), bool) if before is None else self._lacking(before, table, slots)
            if last and not lacking.any() and np.array_equal(slots, last.slots):
                return ViewResult(binding, extent, number, slots, total, None, 0.0)
            taken = read_in_batches(table, slots[lacking], binding.columns, check)
        read = [row for batch in taken for row in rows_of(batch, binding.shown_columns)]
        rows = _merged(before, slots, lacking, read)
        return ViewResult(binding, extent, number, slots, total, rows, time.thread_time() - start)

    def _lacking(self, before: PageRows, table: Table, slots: Slots) -> Mask:
        """Returns which rows have to be read: those new on the page, and those written since."""
        known = set(before.keys)
        lacking = np.array([slot not in known for slot in slots.tolist()], bool)
        lacking |= table.changed(slots, self._version)
        return lacking

    def fast_forward(self, changes: TableChanges) -> Update | None:
        """Brings the view up to date without an evaluation; returns None if the changes may show on its page.

        With many views of one table this is what most of them need most of the time, so it must cost next to nothing.
        """
        result, binding = self._result, self._binding
        if result is None or binding is None or binding.order is not None:
            return None
        if binding.publication is not changes.publication or self._version < changes.since:
            return None
        if changes.written is None or self._moves(result.extent, changes.extent):
            return None
        if self._version >= changes.extent.version:
            return Update.NONE  # evaluated since
        if self._page_range:
            first, last = self._page_range
            at = bisect_left(changes.written, first)
            if at < len(changes.written) and changes.written[at] <= last:
                return None
        self._version, self.stamp = changes.extent.version, changes.stamp
        if self.total == changes.extent.total:
            return Update.NONE
        self.total = changes.extent.total
        return Update.TOTAL

    def _moves(self, before: Extent, now: Extent) -> bool:
        """Whether growing from one extent to the other puts other slots on the page."""
        if now.first != before.first:
            return True
        full = before.total >= self.view.offset + self.view.limit
        return now.total != before.total and (self.view.newest_first or not full)

    def apply(self, result: ViewResult) -> Update:
        """Makes a result the current page; returns what that changes for subscribers."""
        swapped = result.binding is not self._binding
        rows, before = result.rows, self._rows
        if rows and before and not swapped and rows.keys == before.keys and rows.json == before.json:
            rows = None  # the columns that were written are not in this view
        update = Update.TOTAL if result.total != self.total else Update.NONE
        self._binding, self._result, self.total = result.binding, result, result.total
        self._version = result.extent.version
        self._page_range = (int(result.slots.min()), int(result.slots.max())) if len(result.slots) else None
        if swapped:
            self._next_binding = None
        publication = result.binding.publication
        self.stamp = Stamp(publication.number, result.extent.version, publication.generation)
        if rows is None:
            return update
        self._rows, self._previous_rows = rows, None if swapped else before
        self._page_number += 1
        self._page_tail = self._patch_tail = None
        return Update.PAGE

    def reset(self) -> None:
        """Releases the current page, its table and its order; stamps never go back."""
        self.page_failure = None
        self._binding = self._next_binding = self._result = self._page_range = None
        self._rows = self._previous_rows = self._page_tail = self._patch_tail = None

    def has_update_for(self, subscription: Subscription) -> bool:
        """Whether the subscription has not been sent the current page, and may be."""
        if self._binding is None or self.stamp < subscription.min_stamp:
            return False
        return (subscription.page_number, subscription.sent_total) != (self._page_number, self.total)

    def frame_for(self, subscription: Subscription) -> FrameTail | None:
        """Returns what the subscription has not been sent of the current page, if anything; it counts as sent."""
        if self._binding is None or not self.has_update_for(subscription):
            return None
        if subscription.page_number == self._page_number:
            tail = FrameTail("total", total_tail(self.stamp, self.total), self.total)
        elif subscription.page_number == self._page_number - 1 and self._previous_rows and self._rows:
            tail = self._shorter_tail(self._binding, self._previous_rows, self._rows)
        else:
            tail = self._whole_tail(self._binding)
        subscription.page_number, subscription.sent_total = self._page_number, tail.total
        return tail

    def _whole_tail(self, binding: Binding) -> FrameTail:
        """Returns the page, encoded again for a later stamp: a receiver may have seen that one in another view."""
        if self._page_tail is None or self._page_stamp != self.stamp or self._page_tail.total != self.total:
            rows = self._rows.json if self._rows else ()
            data = page_tail(
                self.name, self.stamp, self.total, self.view.offset, binding.shown_columns, rows, binding.missing
            )
            self._page_tail, self._page_stamp = FrameTail("page", data, self.total), self.stamp
        return self._page_tail

    def _shorter_tail(self, binding: Binding, before: PageRows, rows: PageRows) -> FrameTail:
        """Returns the patch from the page before, or the page, whichever is shorter."""
        if self._patch_tail is None or self._patch_tail.total != self.total:  # a slow viewer must not get an old total
            data = patch_tail(self.stamp, self.total, self.view.offset, diff(before, rows))
            self._patch_tail = FrameTail("patch", data, self.total)
            if len(data) >= sum(map(len, rows.json)):
                self._patch_tail = min(self._patch_tail, self._whole_tail(binding), key=lambda tail: len(tail.data))
        return self._patch_tail

    def _slots(self, extent: Extent, order: Order | None) -> tuple[Slots, int]:
        """Returns the slots on the page, and the view's total."""
        view = self.view
        if order is None or order.slots is None:
            return extent.window(view.offset, view.limit, view.newest_first), extent.total
        page = order.slots[view.offset : view.offset + view.limit]
        return page[page >= extent.first], len(order.slots)


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
