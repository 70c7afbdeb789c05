"""Pages of live views are correct after any changes of tables, and for slow viewers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import Any

import numpy as np
import pytest
from tests.live.picture import Picture
from tests.live.samples import USERS

from evertable.live.current_page import Subscription, Update
from evertable.live.live_view import LiveView, TableChanges, ViewResult
from evertable.live.orders import Orders
from evertable.live.workers import Workers
from evertable.protocol import answers
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog
from evertable.tables.table import Slots
from evertable.views.query import Query
from evertable.views.view import View

HISTORIES = 150
VIEWS = [
    View(limit=6),
    View(offset=3, limit=4),
    View(offset=30, limit=4),
    View(limit=4, newest_first=True),
    View(offset=2, limit=40, newest_first=True),
    View(limit=0),
    View(limit=50, columns=("age",)),
    View(limit=5, columns=()),
    View(limit=5, sort=("-age", "name")),
    View(limit=4, offset=1, filter="age >= 5", newest_first=True),
]

Rows = list[list[Any]]


class Forgetful(BoundedTable):
    """A table that does not always know its changed rows, as a joined table after many changes."""

    def __init__(self, random: Random) -> None:
        super().__init__(USERS, random.choice([5, 12, 1_000]))
        self.random = random

    def written(self, since: int) -> list[int] | None:
        return None if self.random.random() < 0.1 else super().written(since)


@dataclass(eq=False)
class Taker:
    """A viewer that reads frames only when the test calls it."""

    view: LiveView
    subscription: Subscription
    picture: Picture = field(default_factory=Picture)

    def take(self) -> str | None:
        if (tail := self.view.page.frame_for(self.subscription)) is None:
            return None
        prefix = answers.prefix(tail.kind, self.subscription.id, self.subscription.tag)
        self.picture.apply(json.loads(prefix + tail.data))
        return tail.kind


class ViewSimulation:
    """All views of one name, handled as the hub does."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.catalog = Catalog(["users_ui"])
        self.orders = Orders(Workers(1), lambda: None, monotonic)
        self.tables = [Forgetful(self.random) for _ in range(3)]
        self.views = [LiveView("users_ui", view, Query.parse(view)) for view in VIEWS]
        self.takers: list[Taker] = []
        self.since = -1
        self.number = 0
        self.catalog.publish(0, {"users_ui": self.tables[0]})
        for view in self.views:
            self.join(view)

    @property
    def table(self) -> BoundedTable:
        shown = self.catalog.current.tables["users_ui"]
        assert isinstance(shown, BoundedTable)
        return shown

    def write(self) -> None:
        table = self.random.choice([self.table, *self.tables])
        for _ in range(self.random.randint(1, 3)):
            self.number += 1
            rows = [(f"u{self.number}", self.random.choice("xyz"), self.random.randint(0, 9)) for _ in range(2)]
            if self.random.random() < 0.5:
                table.append(rows[: self.random.randint(1, 2)])
            else:
                table.put({self.random.randint(0, 20): row for row in rows})

    def flip(self) -> None:
        generation = self.random.randrange(len(self.tables))
        self.catalog.publish(generation, {"users_ui": self.tables[generation]})

    def compute(self, view: LiveView) -> None:
        for order in view.orders:
            order.slots, order.version, _ = order.compute()
            order.number += 1

    def evaluate(self, view: LiveView) -> Update | None:
        binding = view.bind(self.catalog.current, self.orders)
        if binding is None:
            return None
        is_current, update = view.is_current(binding), view.apply(view.evaluate(binding))
        assert not is_current or update is Update.NONE
        return update

    def round(self) -> None:
        """Evaluates pages that cannot be patched; afterwards no page is outdated."""
        seen = TableChanges.read(self.catalog.current, self.table, self.since)
        self.since = seen.extent.version
        for view in self.views:
            before, swapped = shown(view), view.binding and view.binding.publication is not seen.publication
            stamp, update = view.page.stamp, view.fast_forward(seen)
            if update is None:
                update = self.evaluate(view) or Update.NONE
            assert view.page.stamp >= stamp
            if view.binding is None or view.binding.publication is not seen.publication:
                assert view.query.sort or view.query.where, "an unsorted view need not wait"
                continue
            assert shown(view) == self.expected(view)
            assert view.page.stamp.version == seen.extent.version
            if update is not Update.PAGE and not swapped:
                assert before[1] == shown(view)[1]
            assert (update is Update.NONE) <= (before[0] == view.page.total)

    def expected(self, view: LiveView) -> tuple[int, Rows]:
        binding = view.binding
        assert binding is not None
        extent = self.table.extent
        slots: Slots = np.arange(extent.first, extent.end)[:: -1 if view.view.newest_first else 1]
        if binding.order is not None:
            slots = binding.order.slots
        page = slots[view.view.offset :][: view.view.limit]
        return len(slots), cells(self.table, page[page >= extent.first], binding.columns)

    def join(self, view: LiveView) -> Taker:
        """Attaches a viewer as ``Hub.attach`` does: between two rounds it sees the current rows."""
        taker = Taker(view, Subscription("a", len(self.takers), lambda subscription: None))
        self.takers.append(taker)
        self.evaluate(view)
        return taker

    def change(self, taker: Taker) -> None:
        """Changes the view; the next page must not be older."""
        after = taker.view.page.stamp if taker.subscription.page_number else taker.subscription.min_stamp
        taker.view = self.random.choice(self.views)
        taker.subscription = Subscription("a", taker.subscription.tag + 1, lambda subscription: None, after)
        self.evaluate(taker.view)


def cells(table: BoundedTable, slots: Slots, columns: Sequence[int]) -> Rows:
    rows = dict(enumerate(table.rows(), table.extent.first))
    return [[rows[int(slot)][column] for column in columns] for slot in slots]


def shown(view: LiveView) -> tuple[int, Rows]:
    """Returns the page that a new viewer sees."""
    taker = Taker(view, Subscription("x", 0, lambda subscription: None))
    taker.take()
    return view.page.total, taker.picture.rows


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_pages_stay_correct(seed: int) -> None:
    """While rows are added, changed and removed, names flip, and viewers come, change and read."""
    simulation = ViewSimulation(seed)
    for _ in range(60):
        chance = simulation.random.random()
        if chance < 0.4:
            simulation.write()
        elif chance < 0.45:
            simulation.flip()
        elif chance < 0.55:
            simulation.compute(simulation.random.choice(simulation.views))
        elif chance < 0.6:
            simulation.join(simulation.random.choice(simulation.views))
        elif chance < 0.7:
            simulation.change(simulation.random.choice(simulation.takers))
        elif chance < 0.9:
            simulation.round()
        else:
            for taker in simulation.random.sample(simulation.takers, len(simulation.takers) // 2):
                taker.take()
    for view in simulation.views:
        simulation.evaluate(view)
        simulation.compute(view)
    simulation.round()
    for taker in simulation.takers:
        taker.take()
        assert not taker.view.page.has_update_for(taker.subscription), "one frame brings all that was missed"
        assert (taker.picture.total, taker.picture.rows) == simulation.expected(taker.view)
        assert taker.picture.page["publication"] == simulation.catalog.current.number


def one(view: View, table: BoundedTable) -> tuple[LiveView, Catalog, Orders]:
    catalog, orders = Catalog(["users_ui"]), Orders(Workers(1), lambda: None, monotonic)
    catalog.publish(1, {"users_ui": table})
    return LiveView("users_ui", view, Query.parse(view)), catalog, orders


def evaluated(view: LiveView, catalog: Catalog, orders: Orders) -> ViewResult:
    binding = view.bind(catalog.current, orders)
    assert binding is not None
    return view.evaluate(binding)


def test_a_slow_viewer_gets_the_newest_total_with_its_patch() -> None:
    """A faster viewer may have got the patch before the total changed."""
    table = BoundedTable(USERS, 1_000)
    table.put({i: (f"u{i}", "long enough for a patch to pay" * 5, i) for i in range(10)})
    view, catalog, orders = one(View(limit=5), table)
    view.apply(evaluated(view, catalog, orders))
    quick, slow = (Taker(view, Subscription("a", 0, lambda subscription: None)) for _ in range(2))
    assert (quick.take(), slow.take()) == ("page", "page")
    table.put({1: ("u1", "changed", 1)})
    view.apply(evaluated(view, catalog, orders))
    assert quick.take() == "patch"
    table.append([("new", "elsewhere", 1)])
    assert view.apply(evaluated(view, catalog, orders)) is Update.TOTAL
    assert (quick.take(), slow.take()) == ("total", "patch")
    assert quick.picture.total == slow.picture.total == 11
    assert quick.picture.rows == slow.picture.rows


def test_a_patch_that_is_longer_than_its_page_is_not_sent() -> None:
    """All cells of a narrow page are shorter as rows."""
    table = BoundedTable(USERS, 100)
    table.put(dict.fromkeys(range(100), ("u", "name", 1)))
    view, catalog, orders = one(View(columns=("age",)), table)
    view.apply(evaluated(view, catalog, orders))
    taker = Taker(view, Subscription("a", 0, lambda subscription: None))
    taker.take()
    table.put(dict.fromkeys(range(100), ("u", "name", 2)))
    view.apply(evaluated(view, catalog, orders))
    assert taker.take() == "page"


def test_only_what_changed_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's other rows stay encoded."""
    table, taken = BoundedTable(USERS, 100), list[int]()
    table.put({i: (f"u{i}", "name", i) for i in range(50)})
    view, catalog, orders = one(View(limit=20), table)
    view.apply(evaluated(view, catalog, orders))
    take = table.take

    def noted(slots: Slots, columns: Sequence[int]) -> Any:
        taken.extend(slots.tolist())
        return take(slots, columns)

    monkeypatch.setattr(table, "take", noted)
    table.put({3: ("u3", "other", 3), 40: ("u40", "other", 40)})
    result = evaluated(view, catalog, orders)
    assert taken == [3]
    assert result.rows.values[3] == ("u3", "other", 3)


def test_a_change_that_a_view_does_not_show_sends_nothing() -> None:
    """Another column of a row on the page was written."""
    table = BoundedTable(USERS, 100)
    table.put({1: ("u1", "name", 1)})
    view, catalog, orders = one(View(columns=("name",)), table)
    view.apply(evaluated(view, catalog, orders))
    table.put({1: ("u1", "name", 2)})
    assert view.apply(evaluated(view, catalog, orders)) is Update.NONE
    assert view.page.stamp.version == 2
