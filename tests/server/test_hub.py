"""The hub, without sockets: pace, workers, flips, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.server.conftest import USERS, settings, table
from tests.server.test_socket import catalog_of, numbered
from tests.server.viewers import Picture

from evertable.protocol import answers
from evertable.protocol.answers import Stamp
from evertable.server import hub as hub_module
from evertable.server.hub import Hub
from evertable.server.orders import EVERY_S, Order
from evertable.server.shared import BEGINNING, Binding, LiveView, Look, Subscription
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.tables.table import Slots
from evertable.views.view import View

SORTED = View(sort=("-age",))
LARGE = View(limit=5_000)


class Watcher:
    """A viewer that takes each frame as soon as it is told of it."""

    def __init__(self, hub: Hub, view: View, table: str = "users_ui", after: Stamp = BEGINNING) -> None:
        self.hub, self.picture, self.news = hub, Picture(), asyncio.Event()
        self.subscription = Subscription("a", 0, self._told, after)
        self.view: LiveView | None = None
        self.view = hub.attach(table, view, self.subscription)
        self._told(self.subscription)

    def _told(self, subscription: Subscription) -> None:
        if self.view is not None and (tail := self.hub.frame_for(self.view, subscription)) is not None:
            self.picture.apply(json.loads(answers.prefix(tail.kind, "a", 0) + tail.data))
            self.news.set()

    def leave(self) -> None:
        assert self.view is not None
        self.hub.detach(self.view, self.subscription)

    async def until(self, condition: Callable[[Picture], object]) -> None:
        while not condition(self.picture):
            await asyncio.wait_for(self.news.wait(), 30)
            self.news.clear()


async def wait_until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def running(catalog: Catalog, **given: Any) -> AsyncIterator[Hub]:
    hub = Hub(catalog, settings(**given))
    async with hub.running():
        yield hub


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await scenario()

    asyncio.run(limited())


class Gate:
    """Holds workers up when they have looked or computed, until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, method: str) -> None:
        self.opened, self.entered, self.passed = threading.Event(), 0, 0
        self.failing = False
        real = getattr(owner, method)

        def held(*args: Any) -> Any:
            result = real(*args)
            if threading.current_thread() is threading.main_thread():
                return result
            self.entered += 1
            assert self.opened.wait(30)
            if self.failing:
                raise RuntimeError("planted")
            self.passed += 1
            return result

        monkeypatch.setattr(owner, method, held)


def test_what_happens_while_a_worker_looks_is_seen_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large page's look may find nothing new, and something comes before it says so."""
    rows = BoundedTable(USERS, 10_000)
    rows.put(dict(enumerate(numbered(3_000))))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            watcher = Watcher(hub, LARGE)
            await watcher.until(lambda picture: picture.page)
            nothing_new = threading.Event()
            look = LiveView.look

            def blind(*_: object) -> Look | None:
                assert nothing_new.wait(30)
                monkeypatch.setattr(LiveView, "look", look)
                return None

            monkeypatch.setattr(LiveView, "look", blind)
            rows.put({5: ("u5", "first", 0)})
            await wait_until(lambda: next(iter(hub._shown.values())).looking)
            rows.put({5: ("u5", "second", 0)})
            await wait_until(lambda: next(iter(hub._shown.values())).missed)
            nothing_new.set()
            await watcher.until(lambda picture: picture.rows[5][1] == "second")

    run(scenario)


def test_a_flip_while_a_worker_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page that it made of the old table is not shown after the flip; stamps never go back."""
    rows = BoundedTable(USERS, 10_000)
    rows.put(dict(enumerate(numbered(3_000))))
    catalog = catalog_of(users_ui=rows)

    async def scenario() -> None:
        async with running(catalog) as hub:
            watcher, small = Watcher(hub, LARGE), Watcher(hub, View())
            await watcher.until(lambda picture: picture.page)
            gate = Gate(monkeypatch, LiveView, "look")
            gate.opened.set()
            for number in range(2, 8):
                gate.opened.clear()
                entered = gate.entered
                rows.put({5: ("u5", "old", number)})
                await wait_until(lambda entered=entered: gate.entered > entered)  # type: ignore[misc]
                other = table(rows=[("g", str(number), number)] * 2_000)
                flipping = asyncio.create_task(asyncio.to_thread(catalog.publish, number, {"users_ui": other}))
                await flipping
                gate.opened.set()
                await watcher.until(lambda picture, number=number: picture.page["generation"] == number)  # type: ignore[misc]
                assert watcher.picture.rows == [["g", str(number), number]] * 2_000
                await small.until(lambda picture, number=number: picture.page["generation"] == number)  # type: ignore[misc]
                await hub.publish(1, {"users_ui": rows})

    run(scenario)


def test_stamps_do_not_go_back_while_a_worker_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens elsewhere meanwhile is later than what the worker saw, and must not be told before it."""
    rows = BoundedTable(USERS, 10_000)
    rows.put(dict(enumerate(numbered(6_000))))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watcher = Watcher(hub, LARGE)
            await watcher.until(lambda picture: picture.page)
            gate = Gate(monkeypatch, LiveView, "look")
            rows.put({5: ("u5", "on the page", 0)})
            await wait_until(lambda: gate.entered)
            rows.append(numbered(3))
            await wait_until(lambda: hub._versions["users_ui"] == rows.extent.version)
            gate.opened.set()
            await watcher.until(lambda picture: picture.rows[5][1] == "on the page" and picture.total == 6_003)

    run(scenario)


def test_the_total_of_a_large_filtered_view_follows() -> None:
    """Though its page stays as it is, and nothing else happens after it."""
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


def test_who_comes_from_a_later_page_waits_for_one_as_late() -> None:
    """The view it changes to rests, and what happened since does not show on it."""
    rows = BoundedTable(USERS, 1_000)
    rows.put(dict(enumerate(numbered(100))))
    catalog = catalog_of(users_ui=rows)

    async def scenario() -> None:
        async with running(catalog) as hub:
            view = View(limit=5)
            await Watcher(hub, view).until(lambda picture: picture.page)
            (shown,) = hub._shown.values()
            shown.rests_until = hub.loop.time() + 0.1
            rows.put({50: ("u50", "elsewhere", 50)})
            late = Watcher(hub, view, after=Stamp(catalog.current.number, rows.extent.version, 1))
            assert late.picture.page == {}
            await late.until(lambda picture: picture.page)
            assert late.picture.page["version"] == rows.extent.version

    run(scenario)


def test_an_expensive_page_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times what it cost; but not over a flip."""
    rows, look = BoundedTable(USERS, 1_000), LiveView.look
    rows.put(dict(enumerate(numbered(10))))

    def expensive(view: LiveView, binding: Binding) -> Look | None:
        seen = look(view, binding)
        return seen and replace(seen, cost_s=1_000.0)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            monkeypatch.setattr(LiveView, "look", expensive)
            watcher = Watcher(hub, View())
            (shown,) = hub._shown.values()
            assert shown.rests_until > hub.loop.time() + 9_000
            rows.put({1: ("u1", "changed", 1)})
            await wait_until(lambda: hub._versions.get("users_ui") == rows.extent.version)
            assert watcher.picture.rows[1][1] == "name 1"
            await hub.publish(2, {"users_ui": rows})
            assert watcher.picture.rows[1][1] == "changed"

    run(scenario)


def test_who_leaves_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither views nor orders, also if a worker is at it, and though nothing changes any more."""
    catalog = catalog_of(users_ui=table(rows=numbered(2_000)))

    async def scenario() -> None:
        async with running(catalog) as hub:
            computing, looking = Gate(monkeypatch, Order, "compute"), Gate(monkeypatch, LiveView, "look")
            for view in (SORTED, View(filter="age > 5"), LARGE, View(limit=2_000, sort=("age",)), View()):
                for opened in (False, True):
                    for gate in (computing, looking):
                        gate.opened.set() if opened or view == View() else gate.opened.clear()
                    watchers = [Watcher(hub, view) for _ in range(3)]
                    if opened:
                        await watchers[0].until(lambda picture: picture.page)
                    elif view != View():
                        await wait_until(lambda: hub._orders._tasks or hub._tasks)
                    for watcher in watchers:
                        watcher.leave()
                    assert (hub.views, hub.subscriptions) == (0, 0)
                    computing.opened.set()
                    looking.opened.set()
                    await wait_until(lambda: not (len(hub._orders) or hub._orders._tasks or hub._tasks))

    run(scenario)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("evertable")]


def test_orders_for_nobody_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that is changed a hundred times while the workers are busy is sorted as it is in the end."""
    catalog = catalog_of(users_ui=table(rows=numbered(100)))

    async def scenario() -> None:
        async with running(catalog, tick_ms=1) as hub:
            gate = Gate(monkeypatch, Order, "compute")
            last = Watcher(hub, View(filter="age >= 0"))
            for age in range(1, 100):
                before, last = last, Watcher(hub, View(filter=f"age >= {age}"))
                before.leave()
                await wait_until(lambda: len(hub._orders) == 1)
                await wait_until(lambda: next(iter(hub._orders._orders.values())).task)
            gate.opened.set()
            await last.until(lambda picture: picture.total == 1)
            assert gate.passed <= hub._workers._pool._max_workers + 1

    run(scenario)


def test_what_a_worker_could_not_do_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An order, and a large page; it is logged, and others are not touched by it."""
    rows = table(rows=numbered(2_000))
    monkeypatch.setattr(hub_module, "RETRY_S", 0.01)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            for owner, method, view in [(Order, "compute", SORTED), (LiveView, "look", LARGE)]:
                with monkeypatch.context() as patched, capture_logs() as logs:
                    gate = Gate(patched, owner, method)
                    gate.failing = True
                    gate.opened.set()
                    if method == "compute":
                        patched.setattr("evertable.server.orders.EVERY_S", 0.001)
                    failing = Watcher(hub, view)
                    await wait_until(lambda: len(logs) > 1)
                    if method == "compute":
                        other = Watcher(hub, View())
                        await other.until(lambda picture: picture.page)
                        other.leave()
                    gate.failing = False
                    await failing.until(lambda picture: picture.page)
                    assert {entry["event"] for entry in logs} <= {"order_failed", "view_failed"}
                    failing.leave()

    run(scenario)


def test_a_small_page_that_cannot_be_made_disturbs_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others of the same round are told; it is not tried at every tick."""
    rows = table(rows=numbered(10))
    look = LiveView.look

    def failing(view: LiveView, binding: Binding) -> Look | None:
        if view.view.offset:
            raise RuntimeError("planted")
        return look(view, binding)

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            monkeypatch.setattr(LiveView, "look", failing)
            with capture_logs() as logs:
                bad, good = Watcher(hub, View(offset=1)), Watcher(hub, View())
                for total in range(11, 40):
                    rows.append(numbered(1))
                    await good.until(lambda picture, total=total: picture.total == total)  # type: ignore[misc]
            assert len(logs) < 5
            monkeypatch.setattr(LiveView, "look", look)
            await bad.until(lambda picture: picture.page)

    run(scenario)


def test_totals_come_four_times_a_second_at_most() -> None:
    """And the last one comes too, though nothing else happens after it."""
    rows = table(rows=numbered(100))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watchers = [Watcher(hub, View(limit=10)), Watcher(hub, View(limit=0, newest_first=True))]
            start, count = time.monotonic(), 0
            while time.monotonic() < start + 3 * EVERY_S:
                count += 1
                rows.append(numbered(1))
                await asyncio.sleep(0.002)
            for watcher in watchers:
                await watcher.until(lambda picture: picture.total == 100 + count)
                assert watcher.picture.kinds["page"] == 1
                assert watcher.picture.kinds["total"] <= (time.monotonic() - start) / EVERY_S + 1

    run(scenario)


def test_a_total_that_came_with_a_page_counts() -> None:
    """After a page, the next total alone waits its turn."""
    rows = BoundedTable(USERS, 1_000)
    rows.put(dict(enumerate(numbered(100))))

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watcher = Watcher(hub, View(limit=10))
            start, patches = time.monotonic(), 0
            while time.monotonic() < start + 2 * EVERY_S:
                patches += 1
                rows.put({1: ("u", "changed", patches)})
                await watcher.until(lambda picture, n=patches: picture.rows[1][2] == n)  # type: ignore[misc]
                rows.append(numbered(1))
                await asyncio.sleep(0.003)
            await watcher.until(lambda picture: picture.total == 100 + patches)
            assert watcher.picture.kinds["total"] <= (time.monotonic() - start) / EVERY_S + 1

    run(scenario)


def test_orders_rest() -> None:
    """However often a table changes, each is computed four times a second at most, and the last change shows."""
    rows, computed = table(rows=numbered(100)), 0

    async def scenario() -> None:
        nonlocal computed
        async with running(catalog_of(users_ui=rows), tick_ms=1) as hub:
            watchers = [Watcher(hub, SORTED), Watcher(hub, View(sort=("-age",), limit=5, columns=("age",)))]
            start, age = time.monotonic(), 100
            while time.monotonic() < start + 3 * EVERY_S:
                age += 1
                rows.append([("u", "x", age)])
                await asyncio.sleep(0.002)
            for watcher in watchers:
                await watcher.until(lambda picture: age in picture.rows[0])
            (order,) = hub._orders._orders.values()
            assert order.number <= (time.monotonic() - start) / EVERY_S + 2

    run(scenario)


def test_an_expensive_order_rests_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times what it cost."""
    rows, compute = table(rows=numbered(10)), Order.compute

    def expensive(order: Order) -> tuple[Slots, int, float]:
        slots, version, _ = compute(order)
        return slots, version, 1_000.0

    async def scenario() -> None:
        async with running(catalog_of(users_ui=rows)) as hub:
            monkeypatch.setattr(Order, "compute", expensive)
            watcher = Watcher(hub, SORTED)
            await watcher.until(lambda picture: picture.page)
            (order,) = hub._orders._orders.values()
            assert order.due_s > hub.loop.time() + 9_000

    run(scenario)


def test_a_flip_finds_orders_ready() -> None:
    """With the flip itself, sorted and filtered views show the new rows; also those whose column comes back."""
    catalog = catalog_of(users_ui=table(rows=numbered(50)))

    async def scenario() -> None:
        async with running(catalog) as hub:
            watchers = [Watcher(hub, SORTED), Watcher(hub, View(filter="age < 10")), Watcher(hub, LARGE)]
            for watcher in watchers:
                await watcher.until(lambda picture: picture.page)
            for number in range(2, 6):
                columns = USERS[:2] if number == 3 else USERS
                rows = [row[: len(columns)] for row in numbered(20)]
                also: list[int] = []
                await hub.publish(number, {"users_ui": table(columns, rows)}, lambda also=also: also.append(1))  # type: ignore[misc]
                assert also == [1]
                assert [watcher.picture.page["generation"] for watcher in watchers[:2]] == [number, number]
            await wait_until(lambda: len(hub._orders) == 2)

    run(scenario)


def test_orders_that_a_flip_waits_for_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nobody uses them yet, and someone else leaves meanwhile."""
    catalog = catalog_of(users_ui=table(rows=numbered(50)))

    async def scenario() -> None:
        async with running(catalog) as hub:
            stays, leaves = Watcher(hub, SORTED), Watcher(hub, View(filter="age < 10"))
            for watcher in (stays, leaves):
                await watcher.until(lambda picture: picture.page)
            gate = Gate(monkeypatch, Order, "compute")
            flipping = asyncio.create_task(hub.publish(2, {"users_ui": table(rows=numbered(20))}))
            await wait_until(lambda: gate.entered == 2 or gate.entered == hub._workers._pool._max_workers)
            leaves.leave()
            await wait_until(lambda: not hub._untidy)
            gate.opened.set()
            await flipping
            assert stays.picture.page["generation"] == 2
            await wait_until(lambda: len(hub._orders) == 1)

    run(scenario)


def test_an_order_that_takes_too_long_comes_after_the_flip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its viewers see the old page until then; the other viewers the new one at once. Who changes over waits."""
    catalog = catalog_of(users_ui=table(rows=numbered(50)))
    monkeypatch.setattr(hub_module, "PREPARE_S", 0.01)

    async def scenario() -> None:
        async with running(catalog) as hub:
            plain, slow = Watcher(hub, View()), Watcher(hub, SORTED)
            await slow.until(lambda picture: picture.page)
            gate = Gate(monkeypatch, Order, "compute")
            await hub.publish(2, {"users_ui": table(rows=numbered(20))})
            assert plain.picture.page["generation"] == 2
            assert slow.picture.page["generation"] == 1
            assert plain.view is not None
            late = Watcher(hub, SORTED, after=plain.view.stamp)
            assert late.picture.page == {}
            for number in (3, 4):
                await hub.publish(number, {"users_ui": table(rows=numbered(20))})
            gate.opened.set()
            for watcher in (slow, late):
                await watcher.until(lambda picture: picture.page and picture.page["generation"] == 4)
                assert watcher.picture.rows == [list(row) for row in reversed(numbered(20))]
            await wait_until(lambda: len(hub._orders) == 1)

    run(scenario)


def test_flips_at_the_same_time_come_one_after_the_other() -> None:
    catalog = catalog_of(users_ui=table(rows=numbered(5)))

    async def scenario() -> None:
        async with running(catalog) as hub:
            watcher = Watcher(hub, SORTED)
            await watcher.until(lambda picture: picture.page)
            seen = list[int]()
            catalog.listen(lambda: seen.append(catalog.current.generation))
            generations = {number: {"users_ui": table(rows=numbered(number))} for number in range(2, 9)}
            await asyncio.gather(*(hub.publish(number, tables) for number, tables in generations.items()))
            assert list(dict.fromkeys(seen)) == list(generations)
            assert watcher.picture.total == 8

    run(scenario)


def test_a_generation_that_was_live_before_comes_back() -> None:
    """The same table objects, changed meanwhile: stamps grow, and every view shows what is there now."""
    first, second = (BoundedTable(USERS, 1_000) for _ in range(2))
    first.put(dict(enumerate(numbered(30))))
    second.put(dict(enumerate(numbered(5))))
    catalog = catalog_of(users_ui=first)
    second._on_change = catalog.ring

    async def scenario() -> None:
        async with running(catalog) as hub:
            views = [View(), SORTED, View(filter="age < 3"), LARGE, View(newest_first=True, limit=3)]
            watchers = [Watcher(hub, view) for view in views]
            for number in range(1, 8):
                current, other = (second, first) if number % 2 else (first, second)
                await hub.publish(number, {"users_ui": current})
                for changed in (other, current):
                    changed.put({0: ("u0", f"flip {number}", number % 3), 1_000 + number: ("new", "x", 0)})
                for watcher in watchers:
                    await watcher.until(
                        lambda picture, number=number: (
                            any(f"flip {number}" in row for row in picture.rows)  # type: ignore[misc]
                            or picture.rows[:1] == [["new", "x", 0]]
                        )
                    )
                    assert watcher.picture.page["publication"] == catalog.current.number

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


def test_flips_from_another_thread_while_viewers_come_and_go() -> None:
    """Each sees whole generations, and the last one in the end."""
    catalog = Catalog(["users_ui"])
    generations = [table(rows=[(f"g{number}", "x", i) for i in range(30)]) for number in range(4)]
    done = threading.Event()

    def flip() -> None:
        for number in range(400):
            catalog.publish(number % 4, {"users_ui": generations[number % 4]})
        done.set()

    async def scenario() -> None:
        async with running(catalog, tick_ms=1) as hub:
            flipping = threading.Thread(target=flip)
            watchers = [Watcher(hub, View(limit=5)), Watcher(hub, SORTED)]
            flipping.start()
            while not done.is_set():
                visitor = Watcher(hub, View(offset=len(watchers) % 3, sort=("name",)))
                await asyncio.sleep(0)
                for watcher in (*watchers, visitor):
                    rows = watcher.picture.rows
                    assert {row[0] for row in rows} <= {f"g{watcher.picture.page.get('generation')}"}
                visitor.leave()
            flipping.join()
            for watcher in watchers:
                await watcher.until(lambda picture: picture.page.get("publication") == 400)
            assert hub.views == 2

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


class Sleeper(Watcher):
    """A viewer that is told, and takes nothing until it is asked to."""

    awake = False

    def _told(self, subscription: Subscription) -> None:
        if self.awake:
            super()._told(subscription)

    def wake_up(self) -> None:
        self.awake = True
        self._told(self.subscription)


@pytest.mark.parametrize("view", [View(), SORTED, LARGE, View(limit=3_000, sort=("age",))], ids=str)
def test_nobody_works_for_viewers_that_take_nothing(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    """No page, order or table is kept for them, also over a flip; who wakes up gets the newest page, and only it."""
    monkeypatch.setattr(hub_module, "STALLED_S", 0.0)
    rows, other = (BoundedTable(USERS, 10_000) for _ in range(2))
    catalog = catalog_of(users_ui=rows)
    other._on_change = catalog.ring

    async def scenario() -> None:
        async with running(catalog, tick_ms=1) as hub:
            sleepers = [Sleeper(hub, view) for _ in range(2)]
            live_view = sleepers[0].view
            assert live_view is not None
            for number in range(1, 4):
                rows.append(numbered(1))
                await wait_until(lambda: all(one.subscription.told_s is not None for one in sleepers))
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
