"""Workers of the hub: no event is missed or lost meanwhile, and nothing is left behind."""

from __future__ import annotations

import threading

import pytest
from structlog.testing import capture_logs
from tests.live.samples import USERS, catalog_of, numbered, table
from tests.live.watchers import LARGE, SORTED, Gate, Watcher, run, running, tasks, wait_until

from evertable.live.current_page import Update
from evertable.live.live_view import Binding, LiveView, ViewResult
from evertable.live.orders import Order
from evertable.live.workers import THREADS
from evertable.tables.bounded import BoundedTable
from evertable.tables.table import Check
from evertable.views.view import View


def test_a_change_during_an_evaluation_is_shown_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something comes after a large page was read, and before that is its page."""
    rows = BoundedTable(USERS, 10_000)
    rows.put(dict(enumerate(numbered(3_000))))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            watcher = Watcher(hub, LARGE)
            await watcher.until(lambda picture: picture.page)
            opened, evaluate, entered = threading.Event(), LiveView.evaluate, threading.Event()

            def late(view: LiveView, binding: Binding, check: Check | None = None) -> ViewResult:
                result = evaluate(view, binding, check)  # raises on the event loop
                entered.set()
                assert opened.wait(30)
                monkeypatch.setattr(LiveView, "evaluate", evaluate)
                return result

            monkeypatch.setattr(LiveView, "evaluate", late)
            rows.put({5: ("u5", "first", 0)})
            await hub.clock.until(entered.is_set)
            rows.put({5: ("u5", "second", 0)})
            await hub.clock.advance(1)
            opened.set()
            await watcher.until(lambda picture: picture.rows[5][1] == "second")

    run(scenario)


def test_stamps_do_not_decrease_during_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change elsewhere is later than the worker's snapshot, and must not be sent first."""
    rows = BoundedTable(USERS, 10_000)
    rows.put(dict(enumerate(numbered(6_000))))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watcher = Watcher(hub, LARGE)
            await watcher.until(lambda picture: picture.page)
            gate = Gate(monkeypatch, LiveView, "evaluate")
            rows.put({5: ("u5", "on the page", 0)})
            await hub.clock.until(lambda: gate.entered)
            rows.append(numbered(3))
            await hub.clock.advance(1)
            gate.opened.set()
            await watcher.until(lambda picture: picture.rows[5][1] == "on the page" and picture.total == 6_003)

    run(scenario)


def test_an_outdated_evaluation_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page would be older than the current one."""
    rows, accept, went_back = BoundedTable(USERS, 10_000), LiveView.apply, list[bool]()
    rows.put(dict(enumerate(numbered(6_000))))

    def noted(view: LiveView, result: ViewResult) -> Update:
        before, update = view.page.stamp, accept(view, result)
        went_back.append(view.page.stamp < before)
        return update

    monkeypatch.setattr(LiveView, "apply", noted)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watcher = Watcher(hub, LARGE)
            await watcher.until(lambda picture: picture.page)
            gate = Gate(monkeypatch, LiveView, "evaluate")
            await hub.clock.advance(60)  # its page does not rest any more
            rows.append(numbered(1))
            Watcher(hub, LARGE)  # before the next round, so that an evaluation begins here
            await wait_until(lambda: gate.entered)
            rows.append(numbered(1))
            await hub.clock.advance(1)
            gate.opened.set()
            await watcher.until(lambda picture: picture.total == 6_002)
            assert not any(went_back)

    run(scenario)


def test_the_total_of_a_large_filtered_view_is_updated() -> None:
    """Although its page is unchanged, and without another event."""
    rows = table(rows=numbered(3_000))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            watcher = Watcher(hub, View(limit=2_000, filter="age >= 0"))
            await watcher.until(lambda picture: picture.total == 3_000)
            for total in (3_001, 3_002):
                rows.append(numbered(1))
                await watcher.until(lambda picture, total=total: picture.total == total)  # type: ignore[misc]
            assert watcher.picture.kinds == {"page": 1, "total": 2}

    run(scenario)


def test_a_viewer_that_leaves_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """No view and no order, even if a worker computes one, and without another change."""
    catalog = catalog_of(users_ui=table(rows=numbered(2_000)))

    async def scenario() -> None:
        async with running(catalog) as hub:
            computing, looking = Gate(monkeypatch, Order, "compute"), Gate(monkeypatch, LiveView, "evaluate")
            for view in (SORTED, View(filter="age > 5"), LARGE, View(limit=2_000, sort=("age",)), View()):
                for opened in (False, True):
                    for gate in (computing, looking):
                        gate.opened.set() if opened or view == View() else gate.opened.clear()
                    watchers = [Watcher(hub, view) for _ in range(3)]
                    if opened:
                        await watchers[0].until(lambda picture: picture.page)
                    elif view != View():
                        await hub.clock.until(tasks)
                    for watcher in watchers:
                        watcher.leave()
                    assert (hub.views, hub.subscriptions) == (0, 0)
                    computing.opened.set()
                    looking.opened.set()
                    await hub.clock.until(lambda: not (hub.orders or tasks()))

    run(scenario)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("evertable")]


def test_orders_for_nobody_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that changes a hundred times while workers are busy is sorted once, in its final order."""
    catalog = catalog_of(users_ui=table(rows=numbered(100)))

    async def scenario() -> None:
        async with running(catalog, tick_ms=1) as hub:
            gate = Gate(monkeypatch, Order, "compute")
            last = Watcher(hub, View(filter="age >= 0"))
            for age in range(1, 100):
                before, last = last, Watcher(hub, View(filter=f"age >= {age}"))
                before.leave()
                await hub.clock.until(lambda: hub.orders == 1 and tasks())
            gate.opened.set()
            await last.until(lambda picture: picture.total == 1)
            assert gate.passed <= THREADS + 1

    run(scenario)


def test_failed_work_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    """An order and a large page; the failure is logged, and does not affect others."""
    rows = table(rows=numbered(2_000))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            for owner, method, view in [(Order, "compute", SORTED), (LiveView, "evaluate", LARGE)]:
                with monkeypatch.context() as patched, capture_logs() as logs:
                    gate = Gate(patched, owner, method)
                    gate.failing = True
                    gate.opened.set()
                    failing = Watcher(hub, view)
                    await hub.clock.until(lambda: len(logs) > 1)
                    if method == "compute":
                        other = Watcher(hub, View())
                        await other.until(lambda picture: picture.page)
                        other.leave()
                    gate.failing = False
                    await failing.until(lambda picture: picture.page)
                    assert {entry["event"] for entry in logs} <= {
                        "Could not sort or filter a table; retrying at its next refresh",
                        "Could not update a view; retrying",
                    }
                    failing.leave()

    run(scenario)
