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
from evertable.errors import (
    PageTooLargeError,
    QueryTimeoutError,
    TableNotFoundError,
    TooManyQueriesError,
    TooManyViewsError,
)
from evertable.live.live_view import HeavyPageError, LiveView, Look, News, Seen, Subscription, Tail
from evertable.live.orders import REST, Orders
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
class _Shown:
    """A live view and its pace."""

    view: LiveView
    rests_until: float = 0.0
    cost_s: float = 0.0
    """Of the last look; two in a row count, for in one alone garbage may have been collected."""
    total_told: float = 0.0
    total_waits: bool = False
    failures: int = 0
    """In a row."""
    looking: bool = False
    task: asyncio.Task[None] | None = None
    """That looks, on a worker."""
    missed: bool = False
    """Whether something may have happened while a worker looked."""
    latecomers: bool = False
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
        self._max_views = settings.max_views
        self._query_timeout_s = settings.query_timeout_s
        self._queries: Counter[tuple[str, Query]] = Counter()
        """Different sorts and filters, with the number of views that use each."""
        self._shown: dict[tuple[str, View], _Shown] = {}
        self._versions: dict[str, int] = {}
        self._last = self._last_cpu = self._sleepers_due = 0.0
        self._turn = 0
        self._timer: asyncio.TimerHandle | None = None
        self._woken = self._untidy = self._put_off = False
        self._ended = True
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follows the catalog; the application's lifespan."""
        self.loop = asyncio.get_running_loop()
        self._workers = Workers(timeout_s=self._query_timeout_s)
        self._orders = Orders(self._workers, self.wake)
        self._flipping = asyncio.Lock()
        self._woken = self._ended = self._put_off = False
        self._last, self._last_cpu = self.loop.time(), time.thread_time()
        leave = self._catalog.listen(self.wake)
        try:
            yield
        finally:
            leave()
            self._ended = True
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
        return len(self._shown)

    @property
    def queries(self) -> int:
        """Different sorts and filters in use."""
        return len(self._queries)

    @property
    def subscriptions(self) -> int:
        return sum(len(shown.view.subscribers) for shown in tuple(self._shown.values()))

    def wake(self) -> None:
        """Something may have changed; any thread may call it, as often as it likes."""
        if not self._woken:
            self._woken = True
            try:
                self.loop.call_soon_threadsafe(self._plan)
            except RuntimeError:  # the loop has ended, and so have all viewers
                self._woken = False

    async def publish(
        self, generation: int, tables: Mapping[str, Table], also: Callable[[], None] = lambda: None
    ) -> Publication:
        """Flips all names at once, after the sorts and filters in use were computed on the new tables.

        What ``also`` writes into tables that do not flip, viewers see together with the flip.
        """
        async with self._flipping:  # one after the other, in the order they were asked for
            in_use = {(name, shown.view.query): shown.view.client for (name, _), shown in self._shown.items()}
            try:
                async with self._orders.prepared(in_use, tables, PREPARE_S):
                    publication = self._catalog.publish(generation, tables)
                    also()
                    self._round(whole=True)
            finally:
                self._untidy = True  # an order may have been prepared for someone who left meanwhile
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
        if (name, view) not in self._shown and not self._has_place(replaced):
            raise TooManyViewsError(
                f"Viewers follow {self._max_views} different views, as many as there may be.",
                "Show the same rows and columns as another viewer, try again later, or raise server.max_views.",
            )
        return self.attach_again(name, view, query, subscription)

    def attach_again(self, name: str, view: View, query: Query, subscription: Subscription) -> LiveView:
        """Does the same for a view that was accepted before."""
        shown = self._shown.get((name, view))
        if shown is None:
            shown = self._shown[name, view] = _Shown(LiveView(name, view, query))
            if not query.plain:
                self._queries[name, query] += 1
        shown.view.subscribers.add(subscription)
        self._refresh(shown, self._catalog.current, self.loop.time())
        if shown.view.lacks(subscription):
            subscription.tell(self.loop.time())
        else:  # its order is not computed yet, or it comes from a later page
            shown.latecomers = shown.latecomers or shown.view.stamp < subscription.after
            self.wake()
        return shown.view

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

    def _has_place(self, replaced: LiveView | None) -> bool:
        """Whether one more view may be followed, in the place of the one that is replaced."""
        ends = replaced is not None and len(replaced.subscribers) == 1
        return len(self._shown) - ends < self._max_views

    def frame_for(self, view: LiveView, subscription: Subscription) -> Tail | None:
        """What the subscription lacks, now that it can take it; if its view sleeps, it is told again when there is."""
        subscription.told_s = None
        if view.binding is None and (shown := self._shown.get((view.name, view.view))):
            self._refresh(shown, self._catalog.current, self.loop.time())
            self.wake()  # its order may have to be computed first
        return view.frame_for(subscription)

    def is_waiting(self, view: LiveView) -> bool:
        """Whether the name has no table yet."""
        return view.name not in self._catalog.current.tables

    def detach(self, view: LiveView, subscription: Subscription) -> None:
        view.subscribers.discard(subscription)
        if not view.subscribers:
            shown = self._shown.pop((view.name, view.view))
            if shown.task is not None:
                shown.task.cancel()
            if not view.query.plain:
                self._queries[view.name, view.query] -= 1
                if not self._queries[view.name, view.query]:
                    del self._queries[view.name, view.query]
            if view.orders:
                self._untidy = True
                self.wake()  # no other round may come for long

    def _plan(self) -> None:
        """Runs a round as soon as one may be run."""
        self._woken = False
        self._plan_at(self.loop.time())

    def _plan_at(self, when: float) -> None:
        when = max(when, self._last + self._tick_s)
        if when == NEVER or self._ended or self._put_off or (self._timer and self._timer.when() <= when):
            return
        if self._timer:
            self._timer.cancel()
        self._timer = self.loop.call_at(when, self._tick)

    def _tick(self) -> None:
        self._timer = None
        busy = time.thread_time() - self._last_cpu
        if (free := self._last + busy / MAX_LOAD) > self.loop.time():
            self._put_off = True  # once: whoever keeps the loop busy must not keep rounds from coming
            self._timer = self.loop.call_at(free, self._tick_now)
        else:
            self._tick_now()

    def _tick_now(self) -> None:
        self._timer, self._put_off = None, False
        self._round()

    def _in_turn(self) -> list[_Shown]:
        """All views: first those without sort and filter, then the others, from where the last round stopped."""
        everything = tuple(self._shown.values())
        plain = [shown for shown in everything if shown.view.query.plain]
        others = [shown for shown in everything if not shown.view.query.plain]
        start = self._turn = self._turn % max(1, len(others))
        return [*plain, *others[start:], *others[:start]]

    def _round(self, whole: bool = False) -> None:
        """Brings views up to date: all of them, or as many sorted and filtered ones as fit into ``ROUND_S``."""
        self._last, self._last_cpu = self.loop.time(), time.thread_time()
        publication, now = self._catalog.current, self._last
        soonest = NEVER
        seen = {name: self._see(publication, name) for name in {name for name, _ in self._shown}}
        looks_for_sleepers = now >= self._sleepers_due
        if looks_for_sleepers:  # and not in every round: with many views even this would cost something
            self._sleepers_due = now + STALLED_S / 5
        until: float | None = None
        for shown in self._in_turn():
            if not shown.view.query.plain:
                if until is None:  # at least one has its turn, however many others there are
                    until = NEVER if whole else self.loop.time() + ROUND_S
                elif self.loop.time() > until:
                    soonest = now  # those that are left come first in the next round
                    break
                self._turn += 1
            if (looks_for_sleepers or shown.view.binding is None) and self._sleeps(shown, now):
                continue
            known = seen[shown.view.name]
            news = shown.view.overlook(known) if known and not shown.looking else None
            if news is None:
                soonest = min(soonest, self._refresh(shown, publication, now))
            elif news is News.TOTAL or shown.total_waits:
                shown.total_waits = True
                soonest = min(soonest, self._tell_total(shown, now))
            if shown.latecomers:
                shown.latecomers = any(shown.view.stamp < one.after for one in shown.view.subscribers)
                self._tell(shown)
        if self._untidy:
            self._orders.keep({order for shown in self._shown.values() for order in shown.view.orders})
            self._untidy = False
        self._plan_at(min(soonest, self._orders.refresh(now)))

    def _sleeps(self, shown: _Shown, now: float) -> bool:
        """Whether nobody takes what this view shows; then nothing is kept for it."""
        view = shown.view
        if shown.looking or any(one.told_s is None or now < one.told_s + STALLED_S for one in view.subscribers):
            return False
        self._untidy = self._untidy or bool(view.orders)
        view.forget()
        return True

    def _see(self, publication: Publication, name: str) -> Seen | None:
        """What happened to the name's table since the last round."""
        if (table := publication.tables.get(name)) is None:
            return None
        seen = Seen.of(publication, table, self._versions.get(name, -1))
        self._versions[name] = seen.extent.version
        return seen

    def _refresh(self, shown: _Shown, publication: Publication, now: float) -> float:
        """Brings one view up to date; says when it wants to be looked at again though nothing changes."""
        view = shown.view
        try:
            binding = view.bind(publication, self._orders)
            if view.failure is not None:
                self._tell(shown)
                return NEVER
            if shown.looking:
                shown.missed = True
            elif binding is not None and not view.is_current(binding):
                if now < shown.rests_until and (shown.failures or binding is view.binding):
                    return shown.rests_until
                if view.large:
                    self._look_elsewhere(shown)
                elif look := view.look(binding):
                    self._show(shown, look, now)
        except HeavyPageError:
            self._look_elsewhere(shown)
        except Exception:
            return self._failed(shown, now)
        return self._tell_total(shown, now)

    def _failed(self, shown: _Shown, now: float) -> float:
        """Others are not touched by it, and it is tried again, less and less often."""
        log.exception("view_failed", table=shown.view.name, view=shown.view.view)
        shown.failures += 1
        shown.rests_until = now + min(RETRY_S, 2.0 ** min(shown.failures, 10))
        return shown.rests_until

    def _show(self, shown: _Shown, look: Look, now: float) -> None:
        swapped = look.binding is not shown.view.binding
        news = shown.view.accept(look)
        shown.rests_until, shown.failures = now + REST * min(look.cost_s, shown.cost_s), 0
        shown.cost_s = look.cost_s
        self._untidy = self._untidy or swapped
        if news is News.PAGE:
            shown.total_told, shown.total_waits = now, False
            self._tell(shown)
        elif news is News.TOTAL:
            shown.total_waits = True

    def _tell_total(self, shown: _Shown, now: float) -> float:
        """A change of the total alone is told four times a second at most."""
        if not shown.total_waits:
            return NEVER
        if now < shown.total_told + TOTALS_S:
            return shown.total_told + TOTALS_S
        shown.total_told, shown.total_waits = now, False
        self._tell(shown)
        return NEVER

    def _tell(self, shown: _Shown) -> None:
        now = self.loop.time()
        for subscription in shown.view.subscribers:
            subscription.tell(now)

    def _look_elsewhere(self, shown: _Shown) -> None:
        """A large page is made on a worker; one look at a time."""
        shown.looking, shown.missed = True, False
        shown.task = task = self.loop.create_task(self._look(shown))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, shown: _Shown) -> None:
        look = None
        try:
            binding = shown.view.bind(self._catalog.current, self._orders)
            if binding is not None:
                look = await self._workers.run(lambda check: shown.view.look(binding, check), shown.view.client)
            if look and look.binding.publication is self._catalog.current:
                self._show(shown, look, self.loop.time())
        except QueryTimeoutError as error:
            shown.view.page_failure = error
            shown.missed = True
            log.warning("page_timed_out", table=shown.view.name, client=shown.view.client)
        except Exception:
            self._plan_at(self._failed(shown, self.loop.time()))
        finally:
            shown.looking, shown.task = False, None
            if look or shown.missed:  # a total may wait to be told; what happened meanwhile may be news
                self.wake()
