"""Flips in the hub: orders are ready, pages follow, and tables may be published again."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.live.samples import USERS, catalog_of, notify_of_changes, numbered, table
from tests.live.watchers import LARGE, SORTED, Gate, Watcher, run, running, wait_until

from evertable.live import hub as hub_module
from evertable.live.live_view import LiveView
from evertable.live.orders import Order
from evertable.live.workers import THREADS
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.views.view import View


def test_a_flip_while_a_worker_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of the old table is not sent after the flip; stamps never decrease."""
    rows = BoundedTable(USERS, 10_000)
    rows.put(dict(enumerate(numbered(3_000))))
    catalog = catalog_of(users_ui=rows)

    async def scenario() -> None:
        async with running(catalog) as hub:
            watcher, small = Watcher(hub, LARGE), Watcher(hub, View())
            await watcher.until(lambda picture: picture.page)
            gate = Gate(monkeypatch, LiveView, "evaluate")
            gate.opened.set()
            for number in range(2, 8):
                gate.opened.clear()
                entered = gate.entered
                rows.put({5: ("u5", "old", number)})
                await hub.clock.until(lambda entered=entered: gate.entered > entered)  # type: ignore[misc]
                other = table(rows=[("g", str(number), number)] * 2_000)
                flipping = asyncio.create_task(asyncio.to_thread(catalog.publish, number, {"users_ui": other}))
                await flipping
                gate.opened.set()
                await watcher.until(lambda picture, number=number: picture.page["generation"] == number)  # type: ignore[misc]
                assert watcher.picture.rows == [["g", str(number), number]] * 2_000
                await small.until(lambda picture, number=number: picture.page["generation"] == number)  # type: ignore[misc]
                await hub.publish(1, {"users_ui": rows})

    run(scenario)


def test_a_flip_finds_orders_ready() -> None:
    """Sorted and filtered views show the new rows with the flip, even those whose column returns."""
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
            await hub.clock.until(lambda: hub.orders == 2)

    run(scenario)


def test_orders_that_a_flip_waits_for_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although nobody uses them yet, and another viewer leaves."""
    catalog = catalog_of(users_ui=table(rows=numbered(50)))

    async def scenario() -> None:
        async with running(catalog) as hub:
            stays, leaves = Watcher(hub, SORTED), Watcher(hub, View(filter="age < 10"))
            for watcher in (stays, leaves):
                await watcher.until(lambda picture: picture.page)
            gate = Gate(monkeypatch, Order, "compute")
            flipping = asyncio.create_task(hub.publish(2, {"users_ui": table(rows=numbered(20))}))
            await wait_until(lambda: gate.entered == min(2, THREADS))
            leaves.leave()
            await hub.clock.advance(1)
            gate.opened.set()
            await flipping
            assert stays.picture.page["generation"] == 2
            await hub.clock.until(lambda: hub.orders == 1)

    run(scenario)


def test_an_order_that_takes_too_long_comes_after_the_flip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its viewers keep the old page until then; others get the new one immediately. A changed view waits."""
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
            late = Watcher(hub, SORTED, after=plain.view.page.stamp)
            assert late.picture.page == {}
            for number in (3, 4):
                await hub.publish(number, {"users_ui": table(rows=numbered(20))})
            gate.opened.set()
            for watcher in (slow, late):
                await watcher.until(lambda picture: picture.page and picture.page["generation"] == 4)
                assert watcher.picture.rows == [list(row) for row in reversed(numbered(20))]
            await hub.clock.until(lambda: hub.orders == 1)

    run(scenario)


def test_a_flip_waits_for_an_order_that_is_being_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The previous flip did not wait long enough for it."""
    catalog = catalog_of(users_ui=table(rows=numbered(50)))

    async def scenario() -> None:
        async with running(catalog) as hub:
            watcher = Watcher(hub, SORTED)
            await watcher.until(lambda picture: picture.page)
            gate, tables = Gate(monkeypatch, Order, "compute"), {"users_ui": table(rows=numbered(20))}
            monkeypatch.setattr(hub_module, "PREPARE_S", 0.01)
            await hub.publish(2, tables)
            assert watcher.picture.page["generation"] == 1
            monkeypatch.setattr(hub_module, "PREPARE_S", 30)
            again = asyncio.create_task(hub.publish(2, tables))
            await asyncio.sleep(0)
            gate.opened.set()
            publication = await again
            assert watcher.picture.page["publication"] == publication.number
            assert gate.passed == 1

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


def test_a_former_generation_is_published_again() -> None:
    """Its tables have changed: stamps grow, and every view shows the current rows."""
    first, second = (BoundedTable(USERS, 1_000) for _ in range(2))
    first.put(dict(enumerate(numbered(30))))
    second.put(dict(enumerate(numbered(5))))
    catalog = catalog_of(users_ui=first)
    notify_of_changes(second, catalog)

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


def test_flips_from_another_thread_while_viewers_come_and_go() -> None:
    """Each viewer sees whole generations, and finally the last one."""
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
                await hub.clock.advance(0.001)
                for watcher in (*watchers, visitor):
                    rows = watcher.picture.rows
                    assert {row[0] for row in rows} <= {f"g{watcher.picture.page.get('generation')}"}
                visitor.leave()
            flipping.join()
            for watcher in watchers:
                await watcher.until(lambda picture: picture.page.get("publication") == 400)
            assert hub.views == 2

    run(scenario)
