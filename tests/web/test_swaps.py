"""A table in a browser is rewired without an empty or mixed frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.serving.faults import fresh_name
from tests.serving.rig import App, Records, config
from tests.serving.topics import Pair
from tests.waiting import wait_until
from tests.web.chromium import PHONE
from tests.web.conftest import OpenTab, Picture
from tests.web.watching import Watch, cells, total, wait_for_rows

from evertable.broker import EmbeddedBroker

USERS = {mark: {f"{mark} {number}" for number in range(10 * size)} for size, mark in enumerate("abc", 1)}


@pytest.fixture(scope="module")
def app(broker: EmbeddedBroker, pairs: dict[str, Pair], tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with App(config(broker.bootstrap, fresh_name("web"), pairs["a"], tmp_path_factory.mktemp("web"))) as started:
        started.wait_live()
        yield started


def wiring(topics: Pair, **more: str) -> dict[str, str]:
    return {"usersTopic": topics[0], "accountsTopic": topics[1], **more}


def swap_in_panel(page: Page, topics: Pair, join: str) -> None:
    page.get_by_label("Topic for users").fill(topics[0])
    page.get_by_label("Topic for accounts").fill(topics[1])
    page.get_by_role("radio", name=join).check()
    page.get_by_role("button", name="Swap", exact=True).click()


def test_rows_tick(app: App, new_tab: OpenTab, records: Records, pairs: dict[str, Pair], picture: Picture) -> None:
    """New records appear without a click."""
    tab = new_tab().open(app.url, "final_ui")
    expect(tab.page.locator("live-table .live-status")).to_contain_text("Live")
    wait_until(lambda: "a 3" in cells(tab.page, "name"))
    before = total(tab.page)
    records.send(pairs["a"][0], [{"userId": "new", "name": "a new", "age": 1}])
    wait_until(lambda: total(tab.page) == before + 1)
    tab.page.get_by_role("button", name="Newest first").click()
    wait_until(lambda: cells(tab.page, "name")[:1] == ["a new"])
    picture(tab, "final")


def test_five_swaps_in_open_tabs(app: App, new_tab: OpenTab, pairs: dict[str, Pair], picture: Picture) -> None:
    """Swaps in two tabs, by panel and by control topic, show no empty, mixed or failed frame in one element."""
    tab, other = new_tab().open(app.url, "final_ui"), new_tab().open(app.url, "users_ui")
    wait_until(lambda: "a" in cells(tab.page, "accountType") and "a 3" in cells(other.page, "name"))
    watches = [Watch(tab.page), Watch(other.page, "name")]
    outcome = tab.page.locator("et-wiring-panel .outcome")

    swap_in_panel(tab.page, pairs["b"], "left")
    expect(outcome).to_contain_text("Done in")
    wait_for_rows(other.page, "name", USERS["b"])
    picture(tab, "swapped")
    assert (
        app.verdict(app.control({"usersTopic": pairs["c"][0], "accountsTopic": pairs["c"][1]}))["result"] == "applied"
    )
    wait_until(lambda: all(watch.marks[-1] == "c" for watch in watches))
    swap_in_panel(tab.page, pairs["b"], "natural")
    wait_until(lambda: all(watch.marks[-1] == "b" for watch in watches))
    expect(outcome).to_contain_text("Done in")
    assert app.verdict(app.control(wiring(pairs["c"], joinType="asof")))["result"] == "applied"
    wait_until(lambda: all(watch.marks[-1] == "c" for watch in watches))
    tab.page.get_by_role("button", name="Roll back").click()
    wait_until(lambda: all(watch.marks[-1] == "b" for watch in watches))
    expect(outcome).to_contain_text("Done in")

    wait_for_rows(other.page, "name", USERS["b"])
    assert [watch.marks for watch in watches] == [["a", "b", "c", "b", "c", "b"]] * 2
    assert [watch.problems for watch in watches] == [[], []]
    assert min(watch.frames for watch in watches) > 50


def test_a_held_swap_is_reviewed_and_forced(
    app: App, new_tab: OpenTab, new_topic: Callable[..., str], records: Records, picture: Picture
) -> None:
    """The page shows reason and figures; the table stays until the swap is forced."""
    topic = new_topic(1)
    records.send(topic, [{"userId": f"u{number}", "name": "x", "age": "old"} for number in range(30)])
    tab = new_tab().open(app.url, "users_ui")
    wait_until(lambda: cells(tab.page, "name"))
    tab.page.get_by_label("Topic for users").fill(topic)
    tab.page.get_by_role("button", name="Swap", exact=True).click()
    review = tab.page.locator("et-swap-review")
    expect(review).to_contain_text("Swap held for review")
    expect(review).to_contain_text(f"All 30 records of '{topic}' (users) were rejected")
    expect(review.get_by_role("row", name="age")).to_contain_text("30 of 30")
    expect(tab.page.locator("et-wiring-panel .outcome")).to_contain_text("Held: the result looks wrong")
    assert cells(tab.page, "name")
    picture(tab, "held")
    assert tab.axe() == []
    review.get_by_role("button", name="Go live anyway").click()
    expect(tab.page.locator("et-wiring-panel .outcome")).to_contain_text("Done in")
    assert app.status["usersTopic"] == topic
    picture(tab, "forced")
    tab.page.get_by_role("button", name="Roll back").click()
    wait_until(lambda: cells(tab.page, "name"))


def test_a_rejected_swap_shows_its_reason(app: App, new_tab: OpenTab, picture: Picture) -> None:
    """The table stays as it is."""
    tab = new_tab().open(app.url, "users_ui")
    wait_until(lambda: cells(tab.page, "name"))
    watch = Watch(tab.page, "name")
    tab.page.get_by_label("Topic for users").fill("no-such-topic")
    tab.page.get_by_role("button", name="Swap", exact=True).click()
    expect(tab.page.locator("et-wiring-panel .outcome")).to_contain_text("no-such-topic")
    picture(tab, "rejected")
    assert (watch.problems, len(watch.marks)) == ([], 1)


def test_sort_and_filter_survive_a_swap(app: App, new_tab: OpenTab, pairs: dict[str, Pair]) -> None:
    tab = new_tab().open(app.url, "users_ui")
    page = tab.page
    wait_until(lambda: cells(page, "name"))
    page.get_by_label("Filter rows").fill("age >= 3 and age < 6")
    page.get_by_role("button", name="Apply").click()
    page.locator("live-table .live-head-sort", has_text="age").click(click_count=1)
    page.locator("live-table .live-head-sort", has_text="age").click()
    wait_until(lambda: cells(page, "age") == ["5", "4", "3"])
    current = cells(page, "name")[0][0]
    target = "a" if current != "a" else "b"
    assert app.verdict(app.control(wiring(pairs[target], joinType="left")))["result"] == "applied"
    wait_until(lambda: cells(page, "name") == [f"{target} {number}" for number in (5, 4, 3)])


def test_phones_and_screen_readers(app: App, new_tab: OpenTab, picture: Picture) -> None:
    """At 380 px nothing scrolls sideways; axe finds nothing serious, light or dark, with or without the panel."""
    for scheme in ("light", "dark"):
        desktop = new_tab(color_scheme=scheme).open(app.url, "final_ui")
        phone = new_tab(color_scheme=scheme, viewport=PHONE).open(app.url, "final_ui")
        for tab, name in ((desktop, "desktop"), (phone, "phone")):
            expect(tab.page.locator("live-table .ag-row").first).to_be_visible()
            picture(tab, f"{name}-{scheme}")
            assert tab.axe() == []
        phone.page.get_by_role("button", name="Wiring").click()
        expect(phone.page.get_by_role("heading", name="Wiring")).to_be_visible()
        picture(phone, f"phone-wiring-{scheme}")
        assert phone.axe() == []
        for tab in (desktop, phone):
            assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_every_table_has_its_tab(app: App, new_tab: OpenTab, picture: Picture) -> None:
    """A reload opens the same tab."""
    tab = new_tab().open(app.url)
    tabs = tab.page.get_by_role("tab")
    names = [table["name"] for table in app.http.get("/api/tables").json()["tables"]]
    expect(tabs).to_have_count(len(names))
    for name in names:
        tab.page.get_by_role("tab", name=name).click()
        expect(tab.page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        assert tab.page.url.endswith(f"#{name}")
        for row in app.rows(name)[:1]:
            text = row.get("msg") or next(value for value in row.values() if isinstance(value, str))
            expect(tab.page.locator(f"#panel-{name}")).to_contain_text(text)
        picture(tab, f"table-{name}")
    tab.page.reload()
    expect(tab.page.get_by_role("tab", name=names[-1])).to_have_attribute("aria-selected", "true")
