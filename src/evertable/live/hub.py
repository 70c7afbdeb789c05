"""The hub: notices changes, brings every live view up to date once a tick, and tells who looks at it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from evertable.config.server import Server
from evertable.errors import PageTooLargeError, QueryTimeoutError, TableNotFoundError, TooManyQueriesError
from evertable.live.live_view import FrameTail, HeavyPageError, LiveView, Subscription, TableChanges, Update, ViewResult
from evertable.live.orders import REST_FACTOR, Orders
from evertable.live.workers import Workers
from evertable.protocol.frames import Limits
from evertable.tables.catalog import Catalog, Publication
from evertable.tables.table import Table
from evertable.views.query import Query, columns_of
from evertable.views.view import View

MAX_LOAD = 0.6
"""Of the event loop's time that rounds and sends may take; ticks get longer rather than take more."""
PREPARE_S = 5.0
STALLED_S = 5.0
"""A viewer that was told of news so long ago and took nothing is not worked for until it does."""
RETRY_S = 60.0
"""At most, between two tries to show a page that cannot be made."""
ROUND_S = 0.02
"""For sorted and filtered views in one round; then requests and sends have their turn."""
TOTALS_S = 0.25
"""A total alone is not told more often than that."""

NEVER = float("inf")

log = structlog.get_logger()


@dataclass(eq=False)
class _ScheduledView:
    """A live view and its pace."""

    view: LiveView
    not_before: float = 0.0
    cost_s: float = 0.0
    """Of the last look; two in a row count, for in one alone garbage may have been collected."""
    total_sent_s: float = 0.0
    is_total_pending: bool = False
    failures: int = 0
    """In a row."""
    is_evaluating: bool = False
    task: asyncio.Task[None] | None = None
    """That looks, on a worker."""
    may_be_outdated: bool = False
    """Whether something may have happened while a worker looked."""
    has_late_subscribers: bool = False
    """Whether someone comes from a later page than the one on show, and waits until it is as late."""


class Hub:
    """All live views of one server. Everything but ``wake`` is for the event loop's thread.

    A round looks at each view whose table or order has changed. It runs at once after a quiet tick, else a tick after
    the one before, and later if the rounds and the sends they cause would take too much of the event loop.
    """

    def __init__(self, catalog: Catalog, settings: Server) -> None:
        self.limits = Limits(settings.max_page, settings.max_subscriptions)
        self.sent: Counter[str] = Counter()
        """Frames, by type."""
        self.sent_bytes = 0
        self._catalog = catalog
        self._tick_s = settings.tick_ms / 1000
        self._max_queries = settings.max_queries
        self._query_timeout_s = settings.query_timeout_s
        self._queries: Counter[tuple[str, Query]] = Counter()
        """Different sorts and filters, with the number of views that use each."""
        self._views: dict[tuple[str, View], _ScheduledView] = {}
        self._seen_versions: dict[str, int] = {}
        self._last_round_s = self._last_round_cpu_s = self._stalled_check_s = 0.0
        self._next_in_turn = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_woken = self._has_unused_orders = self._is_postponed = False
        self._has_ended = True
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follows the catalog; the application's lifespan."""
        self.loop = asyncio.get_running_loop()
        self._workers = Workers(timeout_s=self._query_timeout_s)
        self._orders = Orders(self._workers, self.wake)
        self._flipping = asyncio.Lock()
        self._is_woken = self._has_ended = self._is_postponed = False
        self._last_round_s, self._last_round_cpu_s = self.loop.time(), time.thread_time()
        leave = self._catalog.listen(self.wake)
        try:
            yield
        finally:
            leave()
            self._has_ended = True
            if self._timer:
                self._timer.cancel()
                self._timer = None
            await self._orders.close()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._workers.close()

    def count(self, kind: str, size: int) -> None:
        """A frame of so many bytes was sent."""
        self.sent[kind] += 1
        self.sent_bytes += size

    @property
    def views(self) -> int:
        return len(self._views)

    @property
    def queries(self) -> int:
        """Different sorts and filters in use."""
        return len(self._queries)

    @property
    def subscriptions(self) -> int:
        return sum(len(scheduled.view.subscribers) for scheduled in tuple(self._views.values()))

    def wake(self) -> None:
        """Something may have changed; any thread may call it, as often as it likes."""
        if not self._is_woken:
            self._is_woken = True
            try:
                self.loop.call_soon_threadsafe(self._plan)
            except RuntimeError:  # the loop has ended, and so have all viewers
                self._is_woken = False

    async def publish(
        self, generation: int, tables: Mapping[str, Table], also: Callable[[], None] = lambda: None
    ) -> Publication:
        """Flips all names at once, after the sorts and filters in use were computed on the new tables.

        What ``also`` writes into tables that do not flip, viewers see together with the flip.
        """
        async with self._flipping:  # one after the other, in the order they were asked for
            in_use = {
                (name, scheduled.view.query): scheduled.view.client for (name, _), scheduled in self._views.items()
            }
            try:
                async with self._orders.prepared(in_use, tables, PREPARE_S):
                    publication = self._catalog.publish(generation, tables)
                    also()
                    self._round(whole=True)
            finally:
                self._has_unused_orders = True  # an order may have been prepared for someone who left meanwhile
                self.wake()
        return publication

    def attach(self, name: str, view: View, subscription: Subscription, replaced: LiveView | None = None) -> LiveView:
        """Tells the subscription of this view's news from now on; RequestError if there can be none.

        ``replaced`` is what it looked at before, and will leave.
        """
        query = self._checked(name, view)
        if not query.plain and (name, query) not in self._queries and not self._has_room(replaced):
            raise TooManyQueriesError(
                f"Viewers use {self._max_queries} different sorts and filters, as many as there may be.",
                "Use the sort and filter of another viewer, try again later, or raise server.max_queries.",
            )
        return self.reattach(name, view, query, subscription)

    def reattach(self, name: str, view: View, query: Query, subscription: Subscription) -> LiveView:
        """Does the same for a view that was accepted before."""
        scheduled = self._views.get((name, view))
        if scheduled is None:
            scheduled = self._views[name, view] = _ScheduledView(LiveView(name, view, query))
            if not query.plain:
                self._queries[name, query] += 1
        scheduled.view.subscribers.add(subscription)
        self._refresh(scheduled, self._catalog.current, self.loop.time())
        if scheduled.view.has_update_for(subscription):
            subscription.notify(self.loop.time())
        else:  # its order is not computed yet, or it comes from a later page
            scheduled.has_late_subscribers = (
                scheduled.has_late_subscribers or scheduled.view.stamp < subscription.min_stamp
            )
            self.wake()
        return scheduled.view

    def _checked(self, name: str, view: View) -> Query:
        """The view's query, if there is such a table and it fits."""
        if name not in self._catalog.names:
            known = ", ".join(self._catalog.names)
            raise TableNotFoundError(f"There is no table '{name}'.", f"There are {known}.")
        if view.limit > self.limits.page:
            raise PageTooLargeError(f"A page has {self.limits.page} rows at most, not {view.limit}.")
        query = Query.parse(view)
        if table := self._catalog.current.tables.get(name):
            query.bind(table.columns)
            columns_of(view, table.columns)
        return query

    def _has_room(self, replaced: LiveView | None) -> bool:
        """Whether one more query may be used, in the place of the view that is replaced."""
        used = len(self._queries)
        if replaced is not None and len(replaced.subscribers) == 1:
            used -= self._queries[replaced.name, replaced.query] == 1
        return used < self._max_queries

    def frame_for(self, view: LiveView, subscription: Subscription) -> FrameTail | None:
        """What the subscription lacks, now that it can take it; if its view sleeps, it is told again when there is."""
        subscription.notified_s = None
        if view.binding is None and (scheduled := self._views.get((view.name, view.view))):
            self._refresh(scheduled, self._catalog.current, self.loop.time())
            self.wake()  # its order may have to be computed first
        return view.frame_for(subscription)

    def is_waiting(self, view: LiveView) -> bool:
        """Whether the name has no table yet."""
        return view.name not in self._catalog.current.tables

    def detach(self, view: LiveView, subscription: Subscription) -> None:
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
                self.wake()  # no other round may come for long

    def _plan(self) -> None:
        """Runs a round as soon as one may be run."""
        self._is_woken = False
        self._plan_at(self.loop.time())

    def _plan_at(self, when: float) -> None:
        when = max(when, self._last_round_s + self._tick_s)
        if when == NEVER or self._has_ended or self._is_postponed or (self._timer and self._timer.when() <= when):
            return
        if self._timer:
            self._timer.cancel()
        self._timer = self.loop.call_at(when, self._tick)

    def _tick(self) -> None:
        self._timer = None
        busy = time.thread_time() - self._last_round_cpu_s
        if (free := self._last_round_s + busy / MAX_LOAD) > self.loop.time():
            self._is_postponed = True  # once: whoever keeps the loop busy must not keep rounds from coming
            self._timer = self.loop.call_at(free, self._tick_now)
        else:
            self._tick_now()

    def _tick_now(self) -> None:
        self._timer, self._is_postponed = None, False
        self._round()

    def _in_turn(self) -> list[_ScheduledView]:
        """All views: first those without sort and filter, then the others, from where the last round stopped."""
        everything = tuple(self._views.values())
        plain = [scheduled for scheduled in everything if scheduled.view.query.plain]
        others = [scheduled for scheduled in everything if not scheduled.view.query.plain]
        start = self._next_in_turn = self._next_in_turn % max(1, len(others))
        return [*plain, *others[start:], *others[:start]]

    def _round(self, whole: bool = False) -> None:
        """Brings views up to date: all of them, or as many sorted and filtered ones as fit into ``ROUND_S``."""
        self._last_round_s, self._last_round_cpu_s = self.loop.time(), time.thread_time()
        publication, now = self._catalog.current, self._last_round_s
        soonest = NEVER
        seen = {name: self._changes_of(publication, name) for name in {name for name, _ in self._views}}
        checks_stalled = now >= self._stalled_check_s
        if checks_stalled:  # and not in every round: with many views even this would cost something
            self._stalled_check_s = now + STALLED_S / 5
        until: float | None = None
        for scheduled in self._in_turn():
            if not scheduled.view.query.plain:
                if until is None:  # at least one has its turn, however many others there are
                    until = NEVER if whole else self.loop.time() + ROUND_S
                elif self.loop.time() > until:
                    soonest = now  # those that are left come first in the next round
                    break
                self._next_in_turn += 1
            if (checks_stalled or scheduled.view.binding is None) and self._is_stalled(scheduled, now):
                continue
            known = seen[scheduled.view.name]
            news = scheduled.view.fast_forward(known) if known and not scheduled.is_evaluating else None
            if news is None:
                soonest = min(soonest, self._refresh(scheduled, publication, now))
            elif news is Update.TOTAL or scheduled.is_total_pending:
                scheduled.is_total_pending = True
                soonest = min(soonest, self._send_total(scheduled, now))
            if scheduled.has_late_subscribers:
                scheduled.has_late_subscribers = any(
                    scheduled.view.stamp < one.min_stamp for one in scheduled.view.subscribers
                )
                self._notify(scheduled)
        if self._has_unused_orders:
            self._orders.retain({order for scheduled in self._views.values() for order in scheduled.view.orders})
            self._has_unused_orders = False
        self._plan_at(min(soonest, self._orders.refresh(now)))

    def _is_stalled(self, scheduled: _ScheduledView, now: float) -> bool:
        """Whether nobody takes what this view shows; then nothing is kept for it."""
        view = scheduled.view
        if scheduled.is_evaluating or any(
            one.notified_s is None or now < one.notified_s + STALLED_S for one in view.subscribers
        ):
            return False
        self._has_unused_orders = self._has_unused_orders or bool(view.orders)
        view.reset()
        return True

    def _changes_of(self, publication: Publication, name: str) -> TableChanges | None:
        """What happened to the name's table since the last round."""
        if (table := publication.tables.get(name)) is None:
            return None
        seen = TableChanges.read(publication, table, self._seen_versions.get(name, -1))
        self._seen_versions[name] = seen.extent.version
        return seen

    def _refresh(self, scheduled: _ScheduledView, publication: Publication, now: float) -> float:
        """Brings one view up to date; says when it wants to be looked at again though nothing changes."""
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
                elif look := view.evaluate(binding):
                    self._show(scheduled, look, now)
        except HeavyPageError:
            self._evaluate_on_worker(scheduled)
        except Exception:
            return self._failed(scheduled, now)
        return self._send_total(scheduled, now)

    def _failed(self, scheduled: _ScheduledView, now: float) -> float:
        """Others are not touched by it, and it is tried again, less and less often."""
        log.exception("view_failed", table=scheduled.view.name, view=scheduled.view.view)
        scheduled.failures += 1
        scheduled.not_before = now + min(RETRY_S, 2.0 ** min(scheduled.failures, 10))
        return scheduled.not_before

    def _show(self, scheduled: _ScheduledView, look: ViewResult, now: float) -> None:
        swapped = look.binding is not scheduled.view.binding
        news = scheduled.view.apply(look)
        scheduled.not_before, scheduled.failures = now + REST_FACTOR * min(look.cost_s, scheduled.cost_s), 0
        scheduled.cost_s = look.cost_s
        self._has_unused_orders = self._has_unused_orders or swapped
        if news is Update.PAGE:
            scheduled.total_sent_s, scheduled.is_total_pending = now, False
            self._notify(scheduled)
        elif news is Update.TOTAL:
            scheduled.is_total_pending = True

    def _send_total(self, scheduled: _ScheduledView, now: float) -> float:
        """A change of the total alone is told four times a second at most."""
        if not scheduled.is_total_pending:
            return NEVER
        if now < scheduled.total_sent_s + TOTALS_S:
            return scheduled.total_sent_s + TOTALS_S
        scheduled.total_sent_s, scheduled.is_total_pending = now, False
        self._notify(scheduled)
        return NEVER

    def _notify(self, scheduled: _ScheduledView) -> None:
        now = self.loop.time()
        for subscription in scheduled.view.subscribers:
            subscription.notify(now)

    def _evaluate_on_worker(self, scheduled: _ScheduledView) -> None:
        """A large page is made on a worker; one look at a time."""
        scheduled.is_evaluating, scheduled.may_be_outdated = True, False
        scheduled.task = task = self.loop.create_task(self._evaluate(scheduled))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _evaluate(self, scheduled: _ScheduledView) -> None:
        look = None
        try:
            binding = scheduled.view.bind(self._catalog.current, self._orders)
            if binding is not None:
                look = await self._workers.run(
                    lambda check: scheduled.view.evaluate(binding, check), scheduled.view.client
                )
            if look and look.binding.publication is self._catalog.current:
                self._show(scheduled, look, self.loop.time())
        except QueryTimeoutError as error:
            scheduled.view.page_failure = error
            scheduled.may_be_outdated = True
            log.warning("page_timed_out", table=scheduled.view.name, client=scheduled.view.client)
        except Exception:
            self._plan_at(self._failed(scheduled, self.loop.time()))
        finally:
            scheduled.is_evaluating, scheduled.task = False, None
            if look or scheduled.may_be_outdated:  # a total may wait to be told; what happened meanwhile may be news
                self.wake()
