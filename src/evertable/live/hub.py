"""The hub: notices changes, brings every live view up to date once a tick, and notifies its subscribers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import structlog

from evertable.config.server import Server
from evertable.errors import (
    PageTooLargeError,
    QueryTimeoutError,
    TableNotFoundError,
    TooManyQueriesError,
    TooManyViewsError,
)
from evertable.live.batches import HeavyPageError
from evertable.live.clock import NEVER, Clock, RoundTimer
from evertable.live.current_page import FrameTail, Subscription, Update
from evertable.live.live_view import LiveView, TableChanges, ViewResult
from evertable.live.orders import REST_FACTOR, Orders
from evertable.live.workers import Workers
from evertable.protocol.frames import Limits
from evertable.tables.catalog import Catalog, Publication
from evertable.tables.table import Table
from evertable.views.query import Query, columns_of
from evertable.views.view import View

PREPARE_S = 5.0
"""A flip waits this long for the sorts and filters in use."""
STALLED_S = 5.0
"""A viewer that has not taken an update for so long gets no more work done until it does."""
RETRY_S = 60.0
"""The longest pause before a view that failed is tried again."""
ROUND_S = 0.02
"""The time for sorted and filtered views in one round; then requests and sends have their turn."""
TOTALS_S = 0.25
"""A change of the total alone is not sent more often than this."""

log = structlog.get_logger()


class Hub:
    """All live views of one server. Only ``wake`` may be called from any thread, all else from the event loop.

    A round evaluates each view whose table or order has changed; ``RoundTimer`` knows when it runs.
    """

    def __init__(self, catalog: Catalog, settings: Server, clock: Clock | None = None) -> None:
        self.limits = Limits(settings.max_page, settings.max_subscriptions)
        self.sent: Counter[str] = Counter()
        """Frames, by type."""
        self.sent_bytes = 0
        self._catalog = catalog
        self._clock = clock or Clock()
        self._rounds = RoundTimer(self._round, settings.tick_ms / 1000, self._clock)
        self._max_queries = settings.max_queries
        self._max_views = settings.max_views
        self._queries: Counter[tuple[str, Query]] = Counter()
        """Different sorts and filters, with the number of views that use each."""
        self._views: dict[tuple[str, View], LiveView] = {}
        self._workers = Workers(timeout_s=settings.query_timeout_s)
        self._orders = Orders(self._workers, self.wake, self._clock.time)
        self._flipping = asyncio.Lock()
        self._seen_versions: dict[str, int] = {}
        self._stalled_check_s = 0.0
        self._next_in_turn = 0
        self._is_woken = self._has_unused_orders = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follows the catalog; the application's lifespan."""
        self.loop = asyncio.get_running_loop()
        self._rounds.started()
        stop_listening = self._catalog.listen(self.wake)
        try:
            yield
        finally:
            stop_listening()
            self._rounds.close()
            await self._workers.close()

    def count(self, kind: str, size: int) -> None:
        """Counts a frame that was sent."""
        self.sent[kind] += 1
        self.sent_bytes += size

    @property
    def views(self) -> int:
        """The number of different views."""
        return len(self._views)

    @property
    def queries(self) -> int:
        """The number of different sorts and filters in use."""
        return len(self._queries)

    @property
    def orders(self) -> int:
        """The number of sorted or filtered tables in memory."""
        return len(self._orders)

    @property
    def subscriptions(self) -> int:
        """The number of subscriptions of all views."""
        return sum(len(view.subscribers) for view in tuple(self._views.values()))

    def wake(self) -> None:
        """Reports that something may have changed; any thread may call it, as often as it likes."""
        if not self._is_woken:
            self._is_woken = True
            try:
                self.loop.call_soon_threadsafe(self._plan)
            except RuntimeError:  # the loop has ended, and so have all viewers
                self._is_woken = False

    async def publish(
        self, generation: int, tables: Mapping[str, Table], also: Callable[[], None] = lambda: None
    ) -> Publication:
        """Flips all names at once, after the sorts and filters in use have been computed for the new tables.

        Viewers see what ``also`` writes into tables that do not flip together with the flip.
        """
        async with self._flipping:  # in the order of the calls
            used = {(view.name, view.query): view.client for view in self._views.values()}
            try:
                async with self._orders.prepared(used, tables, PREPARE_S):
                    publication = self._catalog.publish(generation, tables)
                    also()
                    self._round(is_complete=True)
            finally:
                self._has_unused_orders = True  # an order may have been prepared for a viewer that left meanwhile
                self.wake()
        return publication

    def attach(self, name: str, view: View, subscription: Subscription, replaced: Subscription | None = None) -> None:
        """Adds a subscription to a view and notifies it of each update; raises RequestError for an invalid view.

        ``replaced`` is the subscription in whose place it comes, which its caller detaches.
        """
        query = self._checked(name, view)
        queries, views = len(self._queries), len(self._views)
        if replaced is not None and len(replaced.view.subscribers) == 1:  # it makes room
            queries -= self._queries[replaced.view.name, replaced.view.query] == 1
            views -= 1
        if not query.plain and (name, query) not in self._queries and queries >= self._max_queries:
            raise TooManyQueriesError(
                f"Viewers use {self._max_queries} different sorts and filters, which is the limit.",
                "Use the sort and filter of another viewer, try again later, or raise server.max_queries.",
            )
        if (name, view) not in self._views and views >= self._max_views:
            raise TooManyViewsError(
                f"Viewers follow {self._max_views} different views, as many as there may be.",
                "Show the same rows and columns as another viewer, try again later, or raise server.max_views.",
            )
        self.reattach(name, view, query, subscription)

    def reattach(self, name: str, view: View, query: Query, subscription: Subscription) -> None:
        """Adds a subscription to a view that was accepted before."""
        live_view = self._views.get((name, view))
        if live_view is None:
            live_view = self._views[name, view] = LiveView(name, view, query)
            if not query.plain:
                self._queries[name, query] += 1
        live_view.subscribers.add(subscription)
        subscription.view = live_view
        self._refresh(live_view, self._catalog.current, self._clock.time())
        if live_view.page.has_update_for(subscription):
            subscription.notify(self._clock.time())
        else:  # its order is not computed yet, or the subscriber has seen a later page
            live_view.schedule.has_late_subscribers |= live_view.page.stamp < subscription.min_stamp
            self.wake()

    def _checked(self, name: str, view: View) -> Query:
        """Returns the view's query; raises RequestError if there is no such table or it does not fit."""
        if name not in self._catalog.names:
            known = ", ".join(self._catalog.names)
            raise TableNotFoundError(f"There is no table '{name}'.", f"There are {known}.")
        if view.limit > self.limits.page:
            raise PageTooLargeError(f"A page has at most {self.limits.page} rows, not {view.limit}.")
        query = Query.parse(view)
        if table := self._catalog.current.tables.get(name):
            query.bind(table.columns)
            columns_of(view, table.columns)
        return query

    def frame_for(self, subscription: Subscription) -> FrameTail | None:
        """Returns what a subscription that can take a frame has not been sent yet.

        A view that was reset because its subscribers stalled is evaluated first, and they may be notified again.
        """
        view, subscription.notified_s = subscription.view, None
        if view.binding is None:
            self._refresh(view, self._catalog.current, self._clock.time())
            self.wake()  # its order may have to be computed first
        return view.page.frame_for(subscription)

    def is_waiting(self, subscription: Subscription) -> bool:
        """Whether the name has no table yet."""
        return subscription.view.name not in self._catalog.current.tables

    def detach(self, subscription: Subscription) -> None:
        """Removes a subscription; the last one takes its view along."""
        view = subscription.view
        view.subscribers.discard(subscription)
        if not view.subscribers:
            del self._views[view.name, view.view]
            if view.schedule.task is not None:
                view.schedule.task.cancel()
            self._queries -= Counter(((view.name, view.query),))
            if view.orders:
                self._has_unused_orders = True
                self.wake()  # the next round may be far off

    def _plan(self) -> None:
        """Plans a round for the earliest time."""
        self._is_woken = False
        self._rounds.plan(self._clock.time())

    def _in_turn(self) -> list[LiveView]:
        """Returns views without sort and filter, then the others, from where the last round stopped."""
        views = tuple(self._views.values())
        plain = [view for view in views if view.query.plain]
        others = [view for view in views if not view.query.plain]
        start = self._next_in_turn = self._next_in_turn % max(1, len(others))
        return [*plain, *others[start:], *others[:start]]

    def _round(self, is_complete: bool = False) -> None:
        """Brings views up to date: all of them, or as many sorted and filtered ones as fit into ``ROUND_S``."""
        publication, now = self._catalog.current, self._rounds.started()
        next_round = NEVER
        changes = {name: self._changes_of(publication, name) for name in {name for name, _ in self._views}}
        checks_stalled = now >= self._stalled_check_s
        if checks_stalled:  # not in every round: with many views even this costs something
            self._stalled_check_s = now + STALLED_S / 5
        until: float | None = None
        for view in self._in_turn():
            if not view.query.plain:
                if until is None:  # at least one has its turn, however many others there are
                    until = NEVER if is_complete else self._clock.time() + ROUND_S
                elif self._clock.time() > until:
                    next_round = now  # the views that are left come first in the next round
                    break
                self._next_in_turn += 1
            if (checks_stalled or view.binding is None) and self._is_stalled(view, now):
                continue
            changed, schedule = changes[view.name], view.schedule
            update = view.fast_forward(changed) if changed and schedule.task is None else None
            if update is None:
                next_round = min(next_round, self._refresh(view, publication, now))
            elif update is Update.TOTAL or schedule.is_total_pending:
                schedule.is_total_pending = True
                next_round = min(next_round, self._send_total(view, now))
            if schedule.has_late_subscribers:
                schedule.has_late_subscribers = any(view.page.stamp < one.min_stamp for one in view.subscribers)
                self._notify(view)
        if self._has_unused_orders:
            self._orders.retain({order for view in self._views.values() for order in view.orders})
            self._has_unused_orders = False
        self._rounds.plan(min(next_round, self._orders.refresh(now)))

    def _is_stalled(self, view: LiveView, now: float) -> bool:
        """Resets a view if none of its subscribers takes updates; returns whether it did."""
        if view.schedule.task is not None:
            return False
        if any(one.notified_s is None or now < one.notified_s + STALLED_S for one in view.subscribers):
            return False
        self._has_unused_orders |= bool(view.orders)
        view.reset()
        return True

    def _changes_of(self, publication: Publication, name: str) -> TableChanges | None:
        """Returns what has changed in the name's table since the last round."""
        if (table := publication.tables.get(name)) is None:
            return None
        changes = TableChanges.read(publication, table, self._seen_versions.get(name, -1))
        self._seen_versions[name] = changes.extent.version
        return changes

    def _refresh(self, view: LiveView, publication: Publication, now: float) -> float:
        """Brings one view up to date; returns when it needs another round though nothing changes."""
        schedule = view.schedule
        try:
            binding = view.bind(publication, self._orders)
            if view.failure is not None:
                self._notify(view)
                return NEVER
            if schedule.task is None and binding is not None and not view.is_current(binding):
                if now < schedule.not_before and (schedule.failures or binding is view.binding):
                    return schedule.not_before
                self._apply(view, view.evaluate(binding), now)
        except HeavyPageError:
            schedule.task = self._workers.start(self._evaluate(view))
        except Exception:
            return self._retry_at(view, now)
        return self._send_total(view, now)

    async def _evaluate(self, view: LiveView) -> None:
        """Evaluates a large or heavy page on a worker; each view has one such task at a time."""
        try:
            binding = view.bind(self._catalog.current, self._orders)
            if binding is not None:
                result = await self._workers.run(lambda check: view.evaluate(binding, check), view.client)
                if binding.publication is self._catalog.current:
                    self._apply(view, result, self._clock.time())
        except QueryTimeoutError as error:
            view.page_failure = error
            log.warning("A page took too long; its viewers get an error", table=view.name, client=view.client)
        except Exception:
            self._retry_at(view, self._clock.time())
        finally:
            view.schedule.task = None
            self.wake()  # a total may be pending, or something may have changed meanwhile

    def _retry_at(self, view: LiveView, now: float) -> float:
        """Logs that a view failed; returns when it is tried again. Pauses grow, and other views are not affected."""
        log.exception("Could not update a view; retrying", table=view.name, view=view.view)
        view.schedule.failures += 1
        view.schedule.not_before = now + min(RETRY_S, 2.0 ** min(view.schedule.failures, 10))
        return view.schedule.not_before

    def _apply(self, view: LiveView, result: ViewResult, now: float) -> None:
        schedule = view.schedule
        self._has_unused_orders |= result.binding is not view.binding
        update = view.apply(result)
        schedule.not_before, schedule.failures = now + REST_FACTOR * min(result.cost_s, schedule.cost_s), 0
        schedule.cost_s = result.cost_s
        if update is Update.PAGE:
            schedule.total_sent_s, schedule.is_total_pending = now, False
            self._notify(view)
        elif update is Update.TOTAL:
            schedule.is_total_pending = True

    def _send_total(self, view: LiveView, now: float) -> float:
        """Sends a pending total, four a second at most; returns when it is due."""
        schedule = view.schedule
        if not schedule.is_total_pending:
            return NEVER
        if now < schedule.total_sent_s + TOTALS_S:
            return schedule.total_sent_s + TOTALS_S
        schedule.total_sent_s, schedule.is_total_pending = now, False
        self._notify(view)
        return NEVER

    def _notify(self, view: LiveView) -> None:
        now = self._clock.time()
        for subscription in view.subscribers:
            subscription.notify(now)
