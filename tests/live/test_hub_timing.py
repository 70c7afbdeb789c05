"""The hub, without sockets: its pace, what rests and for how long, and nothing after its end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.live.samples import USERS, catalog_of, notify_of_changes, numbered, settings, table
from tests.live.watchers import LARGE, SORTED, Sleeper, Watcher, run, running, wait_until

from evertable.live import hub as hub_module
from evertable.live.hub import TOTALS_S, Hub
from evertable.live.live_view import Binding, LiveView, ViewResult
from evertable.live.orders import MIN_INTERVAL_S, SHARED_REST_FACTOR, Order
from evertable.protocol.answers import Stamp
from evertable.tables.bounded import BoundedTable
from evertable.tables.pieces import Check
from evertable.tables.table import Slots
from evertable.views.view import View


def test_who_comes_from_a_later_page_waits_for_one_as_late() -> None:
    """The view it changes to rests, and what happened since does not show on it."""
    rows = BoundedTable(USERS, 1_000)
    rows.put(dict(enumerate(numbered(100))))
    catalog = catalog_of(users_ui=rows)

    async def scenario() -> None:
        async with running(catalog) as hub:
            view = View(limit=5)
            await Watcher(hub, view).until(lambda picture: picture.page)
            (shown,) = hub._views.values()
            shown.not_before = hub.loop.time() + 0.1
            rows.put({50: ("u50", "elsewhere", 50)})
            late = Watcher(hub, view, after=Stamp(catalog.current.number, rows.extent.version, 1))
            assert late.picture.page == {}
            await late.until(lambda picture: picture.page)
            assert late.picture.page["version"] == rows.extent.version

    run(scenario)


def test_an_expensive_page_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times what it cost, if it cost that twice in a row; but not over a flip."""
    rows, look = BoundedTable(USERS, 1_000), LiveView.evaluate
    rows.put(dict(enumerate(numbered(10))))

    def expensive(view: LiveView, binding: Binding) -> ViewResult | None:
        seen = look(view, binding)
        return seen and replace(seen, cost_s=1_000.0)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            monkeypatch.setattr(LiveView, "evaluate", expensive)
            watcher = Watcher(hub, View())
            (shown,) = hub._views.values()
            assert shown.not_before <= hub.loop.time()
            rows.put({1: ("u1", "once", 1)})
            await wait_until(lambda: watcher.picture.rows[1][1] == "once")
            assert shown.not_before > hub.loop.time() + 9_000
            rows.put({1: ("u1", "changed", 1)})
            await wait_until(lambda: hub._seen_versions.get("users_ui") == rows.extent.version)
            assert watcher.picture.rows[1][1] == "once"
            await hub.publish(2, {"users_ui": rows})
            assert watcher.picture.rows[1][1] == "changed"

    run(scenario)


def test_a_small_page_that_cannot_be_made_disturbs_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of the same round are told; it is not tried at every tick."""
    rows = table(rows=numbered(10))
    look = LiveView.evaluate

    def failing(view: LiveView, binding: Binding) -> ViewResult | None:
        if view.view.offset:
            raise RuntimeError("planted")
        return look(view, binding)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            monkeypatch.setattr(LiveView, "evaluate", failing)
            with capture_logs() as logs:
                bad, good = Watcher(hub, View(offset=1)), Watcher(hub, View())
                for total in range(11, 40):
                    rows.append(numbered(1))
                    await good.until(lambda picture, total=total: picture.total == total)  # type: ignore[misc]
            assert len(logs) < 5
            monkeypatch.setattr(LiveView, "evaluate", look)
            await bad.until(lambda picture: picture.page)

    run(scenario)


def test_totals_come_four_times_a_second_at_most() -> None:
    """And the last one comes too, though nothing else happens after it."""
    rows = table(rows=numbered(100))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watchers = [Watcher(hub, View(limit=10)), Watcher(hub, View(limit=0, newest_first=True))]
            start, count = time.monotonic(), 0
            while time.monotonic() < start + 3 * TOTALS_S:
                count += 1
                rows.append(numbered(1))
                await asyncio.sleep(0.002)
            for watcher in watchers:
                await watcher.until(lambda picture: picture.total == 100 + count)
                assert watcher.picture.kinds["page"] == 1
                assert watcher.picture.kinds["total"] <= (time.monotonic() - start) / TOTALS_S + 1

    run(scenario)


def test_pages_come_once_a_tick_at_most() -> None:
    """However often a table changes."""
    rows, tick_s = table(rows=numbered(10)), 0.05

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=50) as hub:
            watcher = Watcher(hub, View(newest_first=True, limit=1))
            start, age = time.monotonic(), 100
            while time.monotonic() < start + 10 * tick_s:
                age += 1
                rows.append([("u", "x", age)])
                await asyncio.sleep(0.001)
            await watcher.until(lambda picture: picture.rows == [["u", "x", age]])
            assert watcher.picture.kinds.total() <= (time.monotonic() - start) / tick_s + 2

    run(scenario)


def test_a_total_that_came_with_a_page_counts() -> None:
    """After a page, the next total alone waits its turn."""
    rows = BoundedTable(USERS, 1_000)
    rows.put(dict(enumerate(numbered(100))))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watcher = Watcher(hub, View(limit=10))
            start, patches = time.monotonic(), 0
            while time.monotonic() < start + 2 * TOTALS_S:
                patches += 1
                rows.put({1: ("u", "changed", patches)})
                await watcher.until(lambda picture, n=patches: picture.rows[1][2] == n)  # type: ignore[misc]
                rows.append(numbered(1))
                await asyncio.sleep(0.003)
            await watcher.until(lambda picture: picture.total == 100 + patches)
            assert watcher.picture.kinds["total"] <= (time.monotonic() - start) / TOTALS_S + 1

    run(scenario)


def test_orders_rest() -> None:
    """However often a table changes, each is computed twenty times a second at most, and the last change shows."""
    rows, computed = table(rows=numbered(100)), 0

    async def scenario() -> None:
        nonlocal computed
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watchers = [Watcher(hub, SORTED), Watcher(hub, View(sort=("-age",), limit=5, columns=("age",)))]
            start, age = time.monotonic(), 100
            while time.monotonic() < start + 10 * MIN_INTERVAL_S:
                age += 1
                rows.append([("u", "x", age)])
                await asyncio.sleep(0.002)
            for watcher in watchers:
                await watcher.until(lambda picture: age in picture.rows[0])
            (order,) = hub._orders._orders.values()
            assert order.number <= (time.monotonic() - start) / MIN_INTERVAL_S + 2

    run(scenario)


def test_many_sorted_views_share_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round ends early if they take long; each has its turn, and plain views are in every round."""
    rows, rounds = table(rows=numbered(40)), list[set[str]]()
    monkeypatch.setattr(hub_module, "ROUND_S", -1.0)  # one of them in each round
    whole, bring = Hub._round, Hub._refresh

    def noted_round(hub: Hub, whole_: bool = False) -> None:
        rounds.append(set())
        whole(hub, whole_)

    def noted(hub: Hub, shown: Any, *more: Any) -> float:
        if rounds:
            rounds[-1].add(shown.view.view.filter)
        return bring(hub, shown, *more)

    monkeypatch.setattr(Hub, "_round", noted_round)
    monkeypatch.setattr(Hub, "_refresh", noted)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watchers = [Watcher(hub, View(filter=f"age >= {age}")) for age in range(20)]
            watchers.append(Watcher(hub, View(limit=0)))
            for number, watcher in enumerate(watchers):
                await watcher.until(lambda picture, number=number: picture.total == 40 - number % 20)  # type: ignore[misc]
            rounds.clear()
            rows.append([("new", "row", 99)])
            for number, watcher in enumerate(watchers):
                await watcher.until(lambda picture, number=number: picture.total == 41 - number % 20)  # type: ignore[misc]
            assert max(len(looked - {""}) for looked in rounds) == 1

    run(scenario)


def test_an_expensive_order_rests_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times what it cost."""
    rows, compute = table(rows=numbered(10)), Order.compute

    def expensive(order: Order, check: Check) -> tuple[Slots, int, float]:
        slots, version, _ = compute(order, check)
        return slots, version, 1_000.0

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            monkeypatch.setattr(Order, "compute", expensive)
            watcher = Watcher(hub, SORTED)
            await watcher.until(lambda picture: picture.page)
            (order,) = hub._orders._orders.values()
            assert order.due_s > hub.loop.time() + 9_000

    run(scenario)


def test_orders_share_half_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many cheap ones, each of which alone would be computed far more often."""
    rows, compute, cost_s, many = table(rows=numbered(10)), Order.compute, 1.0, 30

    def cheap(order: Order, check: Check) -> tuple[Slots, int, float]:
        slots, version, _ = compute(order, check)
        return slots, version, cost_s

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            monkeypatch.setattr(Order, "compute", cheap)
            for age in range(many):
                await Watcher(hub, View(filter=f"age >= {age}")).until(lambda picture: picture.page)
            last = max(hub._orders._orders.values(), key=lambda order: order.due_s)
            assert last.due_s > hub.loop.time() + SHARED_REST_FACTOR * many * cost_s - 5

    run(scenario)


def test_a_busy_loop_does_not_keep_rounds_from_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it never gets less busy, and changes never pause."""
    rows = table(rows=numbered(10))
    monkeypatch.setattr("time.thread_time", time.monotonic)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=20) as hub:
            watcher = Watcher(hub, View(newest_first=True, limit=1))
            last, deadline = 0, time.monotonic() + 30
            while watcher.picture.kinds["page"] + watcher.picture.kinds["patch"] < 5:
                assert time.monotonic() < deadline
                last += 1
                rows.append([("u", "x", last)])
                await asyncio.sleep(0.001)

    run(scenario)


def test_changes_after_the_end_touch_nobody() -> None:
    """A feed may still write when the server has ended; and a hub may run again."""
    rows = table(rows=numbered(10))
    catalog = catalog_of(users_ui=rows)
    hub = Hub(catalog, settings())

    async def once() -> None:
        async with hub.running():
            watcher = Watcher(hub, SORTED)
            await watcher.until(lambda picture: picture.page)
            rows.append(numbered(1))
            hub.wake()
            watcher.leave()
        hub.wake()
        rows.append(numbered(1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert hub._timer is None
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(once())
    hub.wake()
    rows.append(numbered(1))
    asyncio.run(once())
    assert catalog._listeners == []


@pytest.mark.parametrize("view", [View(), SORTED, LARGE, View(limit=3_000, sort=("age",))], ids=str)
def test_nobody_works_for_viewers_that_take_nothing(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    """No page, order or table is kept for them, also over a flip; who wakes up gets the newest page, and only it."""
    monkeypatch.setattr(hub_module, "STALLED_S", 0.0)
    rows, other = (BoundedTable(USERS, 10_000) for _ in range(2))
    catalog = catalog_of(users_ui=rows)
    notify_of_changes(other, catalog)

    async def scenario() -> None:
        async with running(catalog, tick_ms=1) as hub:
            sleepers = [Sleeper(hub, view) for _ in range(2)]
            live_view = sleepers[0].view
            assert live_view is not None
            for number in range(1, 4):
                rows.append(numbered(1))
                await wait_until(lambda: all(one.subscription.notified_s is not None for one in sleepers))
                rows.append(numbered(1))
                await wait_until(lambda: live_view.binding is None and not len(hub._orders))
                await hub.publish(number, {"users_ui": other})
                other.append([("g", str(number), number)])
                await asyncio.sleep(0.01)
                assert (live_view.binding, len(hub._orders)) == (None, 0)
                first, second = sleepers
                first.wake_up()
                newest = ["g", str(number), number]
                await first.until(lambda picture, newest=newest: newest in picture.rows)  # type: ignore[misc]
                assert first.picture.kinds["page"] == number
                first.awake = False
                await hub.publish(number, {"users_ui": rows})
            hub.wake()
            await wait_until(lambda: live_view.binding is None)
            second.wake_up()
            await second.until(lambda picture: len(picture.rows) == 6)
            assert second.picture.kinds == {"page": 1}
            other.append(numbered(1))
            rows.append(numbered(1))
            await second.until(lambda picture: len(picture.rows) == 7)

    run(scenario)


def test_who_shares_a_view_with_a_sleeper_sees_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "STALLED_S", 0.0)
    rows = BoundedTable(USERS, 1_000)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            sleeper, lively = Sleeper(hub, View()), Watcher(hub, View())
            for number in range(20):
                rows.append([("u", "x", number)])
                await lively.until(lambda picture, n=number: len(picture.rows) == n + 1)  # type: ignore[misc]
            sleeper.wake_up()
            assert sleeper.picture.rows == lively.picture.rows

    run(scenario)
