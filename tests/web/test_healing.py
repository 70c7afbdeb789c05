"""When the server is killed, the page reports it, keeps its rows, and reconnects by itself."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from tests.serving.faults import fresh_name
from tests.serving.process import Process
from tests.serving.rig import Records, settings
from tests.serving.topics import Pair
from tests.waiting import wait_until
from tests.web.conftest import OpenTab, Picture
from tests.web.watching import Watch, cells

from evertable.broker import EmbeddedBroker, ports


def test_a_killed_and_restarted_server(
    broker: EmbeddedBroker,
    pairs: dict[str, Pair],
    records: Records,
    tmp_path: Path,
    new_tab: OpenTab,
    picture: Picture,
) -> None:
    """Rows stay, the status is shown, and new rows appear in the same table element."""
    server = {"port": ports.choose("127.0.0.1")}
    configuration = settings(broker.bootstrap, fresh_name("heal"), pairs["a"], tmp_path, server=server)
    tab = new_tab()
    with Process(configuration, tmp_path) as first:
        first.wait_live()
        tab.open(str(first.http.base_url), "users_ui")
        wait_until(lambda: "a 3" in cells(tab.page, "name"))
        watch = Watch(tab.page, "name")
        first.kill()
    status = tab.page.locator("live-table .live-status")
    expect(status).to_contain_text("Reconnecting")
    picture(tab, "reconnecting")
    assert "a 3" in cells(tab.page, "name")
    with Process(configuration, tmp_path) as second:
        second.wait_live()
        expect(status).to_contain_text("Live")
        records.send(pairs["a"][0], [{"userId": "healed", "name": "a healed", "age": 1}])
        wait_until(lambda: "a healed" in cells(tab.page, "name"))
        assert (watch.problems, watch.marks) == ([], ["a"])
    tab.page.close()
    tab.errors.clear()  # the browser logs each failed connection
