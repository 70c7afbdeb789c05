"""The hub without sockets: when views and orders are updated, and what remains after its end."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from tests.live.clock import settle
from tests.live.samples import USERS, catalog_of, notify_of_changes, numbered, table
from tests.live.watchers import (
    LARGE,
    SORTED,
    ClockedHub,
    Sleeper,
    Watcher,
    run,
    running,
    tasks,
    wait_until,
)

from evertable.live import hub as hub_module
from evertable.live.clock import MAX_LOAD
from evertable.live.hub import STALLED_S, TOTALS_S
from evertable.live.live_view import Binding, LiveView, ViewResult
from evertable.live.orders import MIN_INTERVAL_S, REST_FACTOR, SHARED_REST_FACTOR, Order
from evertable.protocol.answers import Stamp
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.tables.table import Check, Slots
from evertable.views.view import View

TICK_S = 0.05
SHORT_S = TICK_S / 10


@pytest.fixture
def cost_pages(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the cost of evaluating a page."""
    evaluate = LiveView.evaluate

    def set_cost(seconds: float) -> None:
        def costly(view: LiveView, binding: Binding, check: Check | None = None) -> ViewResult:
            result = evaluate(view, binding, check)
            return result and replace(result, cost_s=seconds)

        monkeypatch.setattr(LiveView, "evaluate", costly)

    return set_cost


@pytest.fixture
def cost_orders(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], list[Order]]:
    """Sets the cost of computing an order; returns the list of future computations."""
    compute = Order.compute

    def set_cost(seconds: float) -> list[Order]:
        computed: list[Order] = []

        def costly(order: Order, check: Check) -> tuple[Slots, int, float]:
            slots, version, _ = compute(order, check)
            computed.append(order)
            return slots, version, seconds

        monkeypatch.setattr(Order, "compute", costly)
        return computed

    return set_cost


async def advance_and_compute(hub: ClockedHub, seconds: float) -> None:
    """Advances the time; workers compute orders and evaluate pages, and the hub sends these."""
    await hub.clock.advance(seconds)
    for _ in range(3):
        await wait_until(lambda: not tasks())
        await hub.clock.advance(TICK_S)
    await wait_until(lambda: not tasks())


def test_a_subscriber_never_gets_an_older_page(cost_pages: Callable[[float], None]) -> None:
    """Its new view rests, and lacks the latest change."""
    rows = BoundedTable(USERS, 1_000)
    rows.put(dict(enumerate(numbered(100))))
    catalog = catalog_of(users_ui=rows)

    async def scenario() -> None:
        async with running(catalog) as hub:
            cost_pages(1.0)
            view = View(limit=5)
            first = Watcher(hub, view)
            rows.put({1: ("u1", "changed", 1)})
            await first.until(lambda picture: picture.rows[1][1] == "changed")
            rows.put({50: ("u50", "elsewhere", 50)})
            late = Watcher(hub, view, after=Stamp(catalog.current.number, rows.extent.version, 1))
            assert late.picture.page == {}
            await hub.clock.advance(TICK_S)
            assert late.picture.page["version"] == rows.extent.version

    run(scenario)


def test_an_expensive_page_rests(cost_pages: Callable[[float], None]) -> None:
    """Ten times its cost, if two evaluations in a row cost that much; a flip does not wait."""
    rows = BoundedTable(USERS, 1_000)
    rows.put(dict(enumerate(numbered(10))))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            cost_pages(1.0)
            watcher = Watcher(hub, View())
            rows.put({1: ("u1", "once", 1)})
            await hub.clock.advance(TICK_S)
            assert watcher.picture.rows[1][1] == "once"
            rows.put({1: ("u1", "twice", 1)})
            await hub.clock.advance(REST_FACTOR - 0.1)
            assert watcher.picture.rows[1][1] == "once"
            await hub.clock.advance(0.2)
            assert watcher.picture.rows[1][1] == "twice"
            rows.put({1: ("u1", "flipped", 1)})
            await hub.publish(2, {"users_ui": rows})
            assert watcher.picture.rows[1][1] == "flipped"

    run(scenario)


def test_a_small_page_that_fails_disturbs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Views of the same round are updated; the failed one is retried after 2, 4, 8 … seconds."""
    rows = table(rows=numbered(10))
    evaluate = LiveView.evaluate

    def failing(view: LiveView, binding: Binding) -> ViewResult:
        if view.view.offset:
            raise RuntimeError("planted")
        return evaluate(view, binding)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            monkeypatch.setattr(LiveView, "evaluate", failing)
            with capture_logs() as logs:
                failed, good = Watcher(hub, View(offset=1)), Watcher(hub, View())
                for total in range(11, 51):
                    rows.append(numbered(1))
                    await hub.clock.advance(TOTALS_S)
                    assert good.picture.total == total
            assert [entry["event"] for entry in logs] == ["Could not update a view; retrying"] * 3  # in 10 s
            monkeypatch.setattr(LiveView, "evaluate", evaluate)
            await failed.until(lambda picture: picture.page)

    run(scenario)


def test_totals_are_sent_four_times_a_second_at_most() -> None:
    """The last one is sent too, without another event."""
    rows = table(rows=numbered(100))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watchers = [Watcher(hub, View(limit=10)), Watcher(hub, View(limit=0, newest_first=True))]
            for _ in range(300):
                rows.append(numbered(1))
                await hub.clock.advance(TOTALS_S / 100)
            await hub.clock.advance(TOTALS_S)
            for watcher in watchers:
                assert watcher.picture.total == 400
                assert watcher.picture.kinds["page"] == 1
                assert 3 <= watcher.picture.kinds["total"] <= 4

    run(scenario)


def test_pages_are_sent_once_a_tick_at_most() -> None:
    """However often a table changes."""
    rows = table(rows=numbered(10))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=50) as hub:
            watcher = Watcher(hub, View(newest_first=True, limit=1))
            for age in range(100):
                rows.append([("u", "x", age)])
                await hub.clock.advance(SHORT_S)
            assert watcher.picture.kinds.total() in (10, 11)
            await hub.clock.advance(TICK_S)
            assert watcher.picture.rows == [["u", "x", 99]]

    run(scenario)


def test_a_total_that_was_sent_with_a_page_counts() -> None:
    """No total is sent alone as long as pages are."""
    rows = BoundedTable(USERS, 1_000)
    rows.put(dict(enumerate(numbered(100))))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=50) as hub:
            watcher = Watcher(hub, View(limit=10))
            for patches in range(1, 21):
                rows.put({1: ("u", "changed", patches)})
                await hub.clock.advance(TICK_S)
                assert watcher.picture.rows[1][2] == patches
                rows.append(numbered(1))
                await hub.clock.advance(TICK_S)
            assert watcher.picture.kinds["total"] == 0
            await hub.clock.advance(TOTALS_S)
            assert (watcher.picture.kinds["total"], watcher.picture.total) == (1, 120)

    run(scenario)


def test_orders_rest(cost_orders: Callable[[float], list[Order]]) -> None:
    """However often a table changes, each is computed at most twenty times a second; the last change is shown."""
    rows = table(rows=numbered(100))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            computed = cost_orders(0.0)
            watchers = [Watcher(hub, SORTED), Watcher(hub, View(sort=("-age",), limit=5, columns=("age",)))]
            for age in range(100, 200):
                rows.append([("u", "x", age)])
                await hub.clock.advance(MIN_INTERVAL_S / 10)
                await wait_until(lambda: not tasks())
            assert 5 <= len(computed) <= 11
            for watcher in watchers:
                await watcher.until(lambda picture: 199 in picture.rows[0])

    run(scenario)


def test_many_sorted_views_share_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow round ends early; each view has its turn, and plain views are in every round."""
    rows, evaluate = table(rows=numbered(40)), LiveView.evaluate
    monkeypatch.setattr(hub_module, "ROUND_S", -1.0)  # one of them in each round

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            rounds: dict[float, set[str]] = defaultdict(set)

            def noted(view: LiveView, binding: Binding) -> ViewResult:
                if view.query.where:
                    rounds[hub.clock.now].add(view.view.filter)
                return evaluate(view, binding)

            watchers = [Watcher(hub, View(filter=f"age >= {age}")) for age in range(20)]
            watchers.append(Watcher(hub, View(limit=0)))
            for number, watcher in enumerate(watchers):
                await watcher.until(lambda picture, number=number: picture.total == 40 - number % 20)  # type: ignore[misc]
            monkeypatch.setattr(LiveView, "evaluate", noted)
            rows.append([("new", "row", 99)])
            for number, watcher in enumerate(watchers):
                await watcher.until(lambda picture, number=number: picture.total == 41 - number % 20)  # type: ignore[misc]
            assert max(map(len, rounds.values())) == 1
            assert len(set.union(*rounds.values())) == 20

    run(scenario)


def test_an_expensive_order_rests_longer(cost_orders: Callable[[float], list[Order]]) -> None:
    """Ten times its cost."""
    rows = table(rows=numbered(10))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            cost_orders(1.0)
            watcher = Watcher(hub, SORTED)
            await watcher.until(lambda picture: picture.page)
            rows.append([("u", "new", 99)])
            await advance_and_compute(hub, REST_FACTOR - 0.2)
            assert watcher.picture.total == 10
            await advance_and_compute(hub, 0.2)
            assert watcher.picture.total == 11

    run(scenario)


def test_orders_share_half_a_core(cost_orders: Callable[[float], list[Order]]) -> None:
    """Many orders, each of which alone would be computed far more often."""
    rows, many = table(rows=numbered(10)), 30

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            cost_orders(1.0)
            for age in range(many):
                last = Watcher(hub, View(filter=f"age >= {age}"))
                await last.until(lambda picture: picture.page)
            rows.append([("u", "new", 99)])
            await advance_and_compute(hub, SHARED_REST_FACTOR * many - 5)
            assert last.picture.total == 0
            await advance_and_compute(hub, 10)
            assert last.picture.total == 1

    run(scenario)


def test_a_busy_loop_does_not_keep_rounds_from_running() -> None:
    """Rounds become rarer while the loop is busy and changes never pause, but they run."""
    rows = table(rows=numbered(10))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=50) as hub:
            watcher = Watcher(hub, View(newest_first=True, limit=1))
            for number in range(1_000):
                rows.append([("u", "x", number)])
                hub.clock.cpu_s += SHORT_S
                await hub.clock.advance(SHORT_S)
            expected = 1_000 * SHORT_S / (TICK_S / MAX_LOAD)
            assert expected / 2 < watcher.picture.kinds.total() < expected + 2

    run(scenario)


class CountingCatalog(Catalog):
    listeners = 0

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        stop = super().listen(listener)
        self.listeners += 1

        def stop_listening() -> None:
            self.listeners -= 1
            stop()

        return stop_listening


def test_changes_after_the_end_reach_nothing() -> None:
    """A feed may still write after the server has ended, and a hub may run again."""
    rows, catalog = table(rows=numbered(10)), CountingCatalog(["users_ui"])
    notify_of_changes(rows, catalog)
    catalog.publish(1, {"users_ui": rows})
    hub = ClockedHub(catalog)

    async def once() -> None:
        async with hub.running():
            watcher = Watcher(hub, SORTED)
            await watcher.until(lambda picture: picture.page)
            rows.append(numbered(1))
            hub.wake()
            watcher.leave()
        hub.wake()
        rows.append(numbered(1))
        await settle()
        assert (hub.clock.timers, tasks(), catalog.listeners) == ([], 0, 0)

    asyncio.run(once())
    hub.wake()
    rows.append(numbered(1))
    asyncio.run(once())


@pytest.mark.parametrize("view", [View(), SORTED, LARGE, View(limit=3_000, sort=("age",))], ids=str)
def test_no_work_is_done_for_viewers_that_do_not_read(view: View) -> None:
    """No page, order or table is kept for them, even over a flip; one that continues gets the newest page only."""
    rows, other = (BoundedTable(USERS, 10_000) for _ in range(2))
    catalog = catalog_of(users_ui=rows)
    notify_of_changes(other, catalog)

    async def scenario() -> None:
        async with running(catalog) as hub:
            first, second = sleepers = [Sleeper(hub, view) for _ in range(2)]
            live_view = first.view
            assert live_view is not None
            for number in range(1, 4):
                rows.append(numbered(1))
                await hub.clock.until(lambda: all(one.subscription.notified_s is not None for one in sleepers))
                await advance_and_compute(hub, 0)  # or a worker would notify after the pause
                await advance_and_compute(hub, 2 * STALLED_S)
                rows.append(numbered(1))
                await hub.clock.until(lambda: live_view.binding is None and not hub.orders)
                await hub.publish(number, {"users_ui": other})
                other.append([("g", str(number), number)])
                await advance_and_compute(hub, STALLED_S)
                assert (live_view.binding, hub.orders) == (None, 0)
                first.wake_up()
                newest = ["g", str(number), number]
                await first.until(lambda picture, newest=newest: newest in picture.rows)  # type: ignore[misc]
                assert first.picture.kinds["page"] == number
                first.awake = False
                await hub.publish(number, {"users_ui": rows})
            await advance_and_compute(hub, 0)  # or a worker would notify after the pause
            await advance_and_compute(hub, 2 * STALLED_S)
            hub.wake()
            await hub.clock.until(lambda: live_view.binding is None)
            second.wake_up()
            await second.until(lambda picture: len(picture.rows) == 6)
            assert second.picture.kinds == {"page": 1}
            other.append(numbered(1))
            rows.append(numbered(1))
            await second.until(lambda picture: len(picture.rows) == 7)

    run(scenario)


def test_a_viewer_that_shares_a_view_with_a_stalled_one_sees_all() -> None:
    rows = BoundedTable(USERS, 1_000)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            sleeper, lively = Sleeper(hub, View()), Watcher(hub, View())
            for number in range(20):
                rows.append([("u", "x", number)])
                await hub.clock.advance(STALLED_S)
                assert len(lively.picture.rows) == number + 1
            sleeper.wake_up()
            assert sleeper.picture.rows == lively.picture.rows

    run(scenario)
