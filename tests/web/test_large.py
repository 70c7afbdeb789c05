"""A million rows from Kafka in a browser: to the end and back, sorted, filtered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect
from tests.serving.faults import fresh_name
from tests.serving.rig import App, Records, config
from tests.waiting import wait_until
from tests.web.conftest import OpenTab, Picture
from tests.web.watching import cells, total

from evertable.broker import EmbeddedBroker

ROWS = 1_000_000


@pytest.fixture(scope="module")
def app(
    broker: EmbeddedBroker,
    new_topic: Callable[..., str],
    records: Records,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[App]:
    topics = new_topic(1), new_topic(1)
    rows = (b'{"userId":"u%d","name":"n %d","age":%d}' % (number, number, number % 1000) for number in range(ROWS))
    records.send(topics[0], rows)
    with App(config(broker.bootstrap, fresh_name("large"), topics, tmp_path_factory.mktemp("large"))) as started:
        wait_until(lambda: started.status.get("state") == "live", "a million rows")
        yield started


def test_a_million_rows(app: App, new_tab: OpenTab, picture: Picture) -> None:
    tab = new_tab().open(app.url, "users_ui")
    page = tab.page
    wait_until(lambda: total(page) == ROWS)
    first, middle, last = (app.rows("users_ui", offset=row, limit=1)[0]["name"] for row in (0, ROWS // 2, ROWS - 1))
    assert cells(page, "name")[0] == first
    page.get_by_role("button", name="Last rows").click()
    wait_until(lambda: cells(page, "name")[-1] == last)
    picture(tab, "a-million-rows")
    page.get_by_label("Go to row").fill(f"{ROWS // 2 + 1:,}")
    page.get_by_label("Go to row").press("Enter")
    wait_until(lambda: middle in cells(page, "name"))
    page.mouse.move(400, 400)
    page.mouse.wheel(0, 28 * 2000)
    wait_until(lambda: all(cells(page, "name")) and middle not in cells(page, "name"))
    page.get_by_role("button", name="First rows").click()
    wait_until(lambda: cells(page, "name")[0] == first)

    page.locator("live-table .live-head-sort", has_text="age").click()
    page.locator("live-table .live-head-sort", has_text="age").click()
    wait_until(lambda: cells(page, "age")[:2] == ["999", "999"])
    page.get_by_label("Filter rows").fill("age = 7 and userId contains '99'")
    page.get_by_role("button", name="Apply").click()
    wanted = sum(number % 1000 == 7 and "99" in str(number) for number in range(ROWS))
    wait_until(lambda: total(page) == wanted)
    assert set(cells(page, "age")) == {"7"}
    page.get_by_label("Filter rows").fill("age >")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("live-table .live-error")).to_contain_text("expected")
    assert total(page) == wanted
    picture(tab, "filter-error")
