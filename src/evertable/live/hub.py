"""The hub: notices changes, brings every live view up to date once a tick, and notifies its subscribers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

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
from evertable.live.clock import Clock, LoopClock, Timer
from evertable.live.live_view import (
    FrameTail,
    LiveView,
    Subscription,
    TableChanges,
    Update,
    ViewResult,
)
from evertable.live.orders import REST_FACTOR, Orders
from evertable.live.workers import Workers
from evertable.protocol.frames import Limits
from evertable.tables.catalog import Catalog, Publication
from evertable.tables.table import Table
from evertable.views.query import Query, columns_of
from evertable.views.view import View

MAX_LOAD = 0.6
"""The share of the event loop's time that rounds and sends may take; ticks get longer rather than take more."""
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

NEVER = float("inf")

log = structlog.get_logger()


@dataclass(eq=False)
class _ScheduledView:
    """A live view, and when it is evaluated next."""

    view: LiveView
    not_before: float = 0.0
    cost_s: float = 0.0
    """Cost of the last evaluation; the lower of two in a row counts, as one may include a garbage collection."""
    total_sent_s: float = 0.0
    is_total_pending: bool = False
    failures: int = 0
    """In a row."""
    task: asyncio.Task[None] | None = None
    """The evaluation that runs on a worker."""
    is_evaluating: bool = False
    may_be_outdated: bool = False
    """Whether something may have changed while a worker evaluated it."""
    has_late_subscribers: bool = False
    """Whether a subscriber has seen a later stamp in another view, and waits until this one reaches it."""


class Hub:
    """All live views of one server. Only ``wake`` may be called from any thread, all else from the event loop.

    A round evaluates each view whose table or order has changed. It runs at once if the last one is more than a tick
    ago, else when the tick is over, and later if rounds and the sends they cause would take too much of the event loop.
    """

    def __init__(self, catalog: Catalog, settings: Server, clock: Clock | None = None) -> None:
        self.limits = Limits(settings.max_page, settings.max_subscriptions)
        self.sent: Counter[str] = Counter()
        """Frames, by type."""
        self.sent_bytes = 0
        self._catalog = catalog
        self._clock = clock or LoopClock()
        self._tick_s = settings.tick_ms / 1000
        self._max_queries = settings.max_queries
        self._max_views = settings.max_views
        self._query_timeout_s = settings.query_timeout_s
        self._queries: Counter[tuple[str, Query]] = Counter()
        """Different sorts and filters, with the number of views that use each."""
        self._views: dict[tuple[str, View], _ScheduledView] = {}
        self._seen_versions: dict[str, int] = {}
        self._last_round_s = self._last_round_cpu_s = self._stalled_check_s = 0.0
        self._next_in_turn = 0
        self._timer: Timer | None = None
        self._is_woken = self._has_unused_orders = self._is_postponed = False
        self._has_ended = True
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follows the catalog; the application's lifespan."""
        self.loop = asyncio.get_running_loop()
        self._workers = Workers(timeout_s=self._query_timeout_s)
        self._orders = Orders(self._workers, self.wake, self._clock.time)
        self._flipping = asyncio.Lock()
        self._is_woken = self._has_ended = self._is_postponed = False
        self._last_round_s, self._last_round_cpu_s = self._clock.time(), self._clock.cpu_time()
        stop_listening = self._catalog.listen(self.wake)
        try:
            yield
        finally:
            stop_listening()
            self._has_ended = True
            if self._timer:
                self._timer.cancel()
                self._timer = None
            await self._orders.close()
            await asyncio.gather(*self._tasks, return_exceptions=True)
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
        return sum(len(scheduled.view.subscribers) for scheduled in tuple(self._views.values()))

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
            used = {(name, one.view.query): one.view.client for (name, _), one in self._views.items()}
            try:
                async with self._orders.prepared(used, tables, PREPARE_S):
                    publication = self._catalog.publish(generation, tables)
                    also()
                    self._round(is_complete=True)
            finally:
                self._has_unused_orders = True  # an order may have been prepared for a viewer that left meanwhile
                self.wake()
        return publication

    def attach(self, name: str, view: View, subscription: Subscription, replaced: LiveView | None = None) -> LiveView:
        """Adds a subscription to a view and notifies it of each update; raises RequestError for an invalid view.

        ``replaced`` is the view that the subscription had before, which its caller detaches.
        """
        query = self._checked(name, view)
        if not query.plain and (name, query) not in self._queries and not self._has_room(replaced):
            raise TooManyQueriesError(
                f"Viewers use {self._max_queries} different sorts and filters, which is the limit.",
                "Use the sort and filter of another viewer, try again later, or raise server.max_queries.",
            )
        if (name, view) not in self._views and not self._has_place(replaced):
            raise TooManyViewsError(
                f"Viewers follow {self._max_views} different views, as many as there may be.",
                "Show the same rows and columns as another viewer, try again later, or raise server.max_views.",
            )
        return self.reattach(name, view, query, subscription)

    def reattach(self, name: str, view: View, query: Query, subscription: Subscription) -> LiveView:
        """Adds a subscription to a view that was accepted before."""
        scheduled = self._views.get((name, view))
        if scheduled is None:
            scheduled = self._views[name, view] = _ScheduledView(LiveView(name, view, query))
            if not query.plain:
                self._queries[name, query] += 1
        live_view = scheduled.view
        live_view.subscribers.add(subscription)
        self._refresh(scheduled, self._catalog.current, self._clock.time())
        if live_view.has_update_for(subscription):
            subscription.notify(self._clock.time())
        else:  # its order is not computed yet, or the subscriber has seen a later page
            scheduled.has_late_subscribers |= live_view.stamp < subscription.min_stamp
            self.wake()
        return live_view

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

    def _has_room(self, replaced: LiveView | None) -> bool:
        """Whether one more query may be used once the replaced view is detached."""
        used = len(self._queries)
        if replaced is not None and len(replaced.subscribers) == 1:
            used -= self._queries[replaced.name, replaced.query] == 1
        return used < self._max_queries

    def _has_place(self, replaced: LiveView | None) -> bool:
        """Returns whether one more view may be followed, in the place of the one that is replaced."""
        is_freed = replaced is not None and len(replaced.subscribers) == 1
        return len(self._views) - is_freed < self._max_views

    def frame_for(self, view: LiveView, subscription: Subscription) -> FrameTail | None:
        """Returns what a subscription that can take a frame has not been sent yet.

        A view that was reset because its subscribers stalled is evaluated first, and they may be notified again.
        """
        subscription.notified_s = None
        if view.binding is None and (scheduled := self._views.get((view.name, view.view))):
            self._refresh(scheduled, self._catalog.current, self._clock.time())
            self.wake()  # its order may have to be computed first
        return view.frame_for(subscription)

    def is_waiting(self, view: LiveView) -> bool:
        """Whether the name has no table yet."""
        return view.name not in self._catalog.current.tables

    def detach(self, view: LiveView, subscription: Subscription) -> None:
        """Removes a subscription; the last one takes its view along."""
        view.subscribers.discard(subscription)
        if not view.subscribers:
            scheduled = self._views.pop((view.name, view.view))
            if scheduled.task is not None:
                scheduled.task.cancel()
            if not view.query.plain:
                self._queries[view.name, view.query] -= 1
                if not self._queries[view.name, view.query]:
                    del self._queries[view.name, view.query]
            if view.orders:
                self._has_unused_orders = True
                self.wake()  # the next round may be far off

    def _plan(self) -> None:
        """Plans a round for the earliest time."""
        self._is_woken = False
        self._plan_at(self._clock.time())

    def _plan_at(self, when: float) -> None:
        when = max(when, self._last_round_s + self._tick_s)
        if when == NEVER or self._has_ended or self._is_postponed or (self._timer and self._timer.when() <= when):
            return
        if self._timer:
            self._timer.cancel()
        self._timer = self._clock.call_at(when, self._tick)

    def _tick(self) -> None:
        self._timer = None
        busy = self._clock.cpu_time() - self._last_round_cpu_s
        if (free := self._last_round_s + busy / MAX_LOAD) > self._clock.time():
            self._is_postponed = True  # only once: a loop that is always busy must not keep rounds from running
            self._timer = self._clock.call_at(free, self._postponed_tick)
        else:
            self._round()

    def _postponed_tick(self) -> None:
        self._timer, self._is_postponed = None, False
        self._round()

    def _in_turn(self) -> list[_ScheduledView]:
        """Returns views without sort and filter, then the others, from where the last round stopped."""
        scheduled = tuple(self._views.values())
        plain = [one for one in scheduled if one.view.query.plain]
        others = [one for one in scheduled if not one.view.query.plain]
        start = self._next_in_turn = self._next_in_turn % max(1, len(others))
        return [*plain, *others[start:], *others[:start]]

    def _round(self, is_complete: bool = False) -> None:
        """Brings views up to date: all of them, or as many sorted and filtered ones as fit into ``ROUND_S``."""
        self._last_round_s, self._last_round_cpu_s = self._clock.time(), self._clock.cpu_time()
        publication, now = self._catalog.current, self._last_round_s
        next_round = NEVER
        changes = {name: self._changes_of(publication, name) for name in {name for name, _ in self._views}}
        checks_stalled = now >= self._stalled_check_s
        if checks_stalled:  # not in every round: with many views even this costs something
            self._stalled_check_s = now + STALLED_S / 5
        until: float | None = None
        for scheduled in self._in_turn():
            view = scheduled.view
            if not view.query.plain:
                if until is None:  # at least one has its turn, however many others there are
                    until = NEVER if is_complete else self._clock.time() + ROUND_S
                elif self._clock.time() > until:
                    next_round = now  # the views that are left come first in the next round
                    break
                self._next_in_turn += 1
            if (checks_stalled or view.binding is None) and self._is_stalled(scheduled, now):
                continue
            changed = changes[view.name]
            update = view.fast_forward(changed) if changed and not scheduled.is_evaluating else None
            if update is None:
                next_round = min(next_round, self._refresh(scheduled, publication, now))
            elif update is Update.TOTAL or scheduled.is_total_pending:
                scheduled.is_total_pending = True
                next_round = min(next_round, self._send_total(scheduled, now))
            if scheduled.has_late_subscribers:
                scheduled.has_late_subscribers = any(view.stamp < one.min_stamp for one in view.subscribers)
                self._notify(scheduled)
        if self._has_unused_orders:
            self._orders.retain({order for scheduled in self._views.values() for order in scheduled.view.orders})
            self._has_unused_orders = False
        self._plan_at(min(next_round, self._orders.refresh(now)))

    def _is_stalled(self, scheduled: _ScheduledView, now: float) -> bool:
        """Resets a view if none of its subscribers takes updates; returns whether it did."""
        view = scheduled.view
        if scheduled.is_evaluating:
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

    def _refresh(self, scheduled: _ScheduledView, publication: Publication, now: float) -> float:
        """Brings one view up to date; returns when it needs another round though nothing changes."""
        view = scheduled.view
        try:
            binding = view.bind(publication, self._orders)
            if view.failure is not None:
                self._notify(scheduled)
                return NEVER
            if scheduled.is_evaluating:
                scheduled.may_be_outdated = True
            elif binding is not None and not view.is_current(binding):
                if now < scheduled.not_before and (scheduled.failures or binding is view.binding):
                    return scheduled.not_before
                if view.is_large:
                    self._evaluate_on_worker(scheduled)
                elif result := view.evaluate(binding):
                    self._apply(scheduled, result, now)
        except HeavyPageError:
            self._evaluate_on_worker(scheduled)
        except Exception:
            return self._retry_at(scheduled, now)
        return self._send_total(scheduled, now)

    def _retry_at(self, scheduled: _ScheduledView, now: float) -> float:
        """Logs that a view failed; returns when it is tried again. Pauses grow, and other views are not affected."""
        log.exception("view_failed", table=scheduled.view.name, view=scheduled.view.view)
        scheduled.failures += 1
        scheduled.not_before = now + min(RETRY_S, 2.0 ** min(scheduled.failures, 10))
        return scheduled.not_before

    def _apply(self, scheduled: _ScheduledView, result: ViewResult, now: float) -> None:
        self._has_unused_orders |= result.binding is not scheduled.view.binding
        update = scheduled.view.apply(result)
        scheduled.not_before, scheduled.failures = now + REST_FACTOR * min(result.cost_s, scheduled.cost_s), 0
        scheduled.cost_s = result.cost_s
        if update is Update.PAGE:
            scheduled.total_sent_s, scheduled.is_total_pending = now, False
            self._notify(scheduled)
        elif update is Update.TOTAL:
            scheduled.is_total_pending = True

    def _send_total(self, scheduled: _ScheduledView, now: float) -> float:
        """Sends a pending total, four a second at most; returns when it is due."""
        if not scheduled.is_total_pending:
            return NEVER
        if now < scheduled.total_sent_s + TOTALS_S:
            return scheduled.total_sent_s + TOTALS_S
        scheduled.total_sent_s, scheduled.is_total_pending = now, False
        self._notify(scheduled)
        return NEVER

    def _notify(self, scheduled: _ScheduledView) -> None:
        now = self._clock.time()
        for subscription in scheduled.view.subscribers:
            subscription.notify(now)

    def _evaluate_on_worker(self, scheduled: _ScheduledView) -> None:
        """Starts the evaluation of a large page; each view has one at a time."""
        scheduled.is_evaluating, scheduled.may_be_outdated = True, False
        scheduled.task = task = self.loop.create_task(self._evaluate(scheduled))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _evaluate(self, scheduled: _ScheduledView) -> None:
        view, result = scheduled.view, None
        try:
            binding = view.bind(self._catalog.current, self._orders)
            if binding is not None:
                result = await self._workers.run(lambda check: view.evaluate(binding, check), view.client)
            if result and result.binding.publication is self._catalog.current:
                self._apply(scheduled, result, self._clock.time())
        except QueryTimeoutError as error:
            view.page_failure = error
            scheduled.may_be_outdated = True
            log.warning("page_timed_out", table=view.name, client=view.client)
        except Exception:
            self._plan_at(self._retry_at(scheduled, self._clock.time()))
        finally:
            scheduled.is_evaluating, scheduled.task = False, None
            if result or scheduled.may_be_outdated:  # a total may be pending, or something may have changed meanwhile
                self.wake()
