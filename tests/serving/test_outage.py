"""A changelog that is not read until the swap fails, and a broker that is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.serving.faults import fresh_name, held_feeds, live_row, make_topic, names, user
from tests.serving.inside import context
from tests.serving.rig import App, Records, config
from tests.serving.topics import Pair
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker

OUTAGE_S = 15
"""Longer than the interval of an epoch, so that a commit fails too."""


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(data_dir=tmp_path_factory.mktemp("broker")) as started:
        yield started


@pytest.fixture(scope="module")
def topics(own_broker: EmbeddedBroker) -> Pair:
    made = fresh_name("users"), fresh_name("accounts")
    for topic in made:
        make_topic(own_broker.bootstrap, topic)
    Records(own_broker.bootstrap).fill(made, "a")
    return made


@pytest.fixture(scope="module")
def app(own_broker: EmbeddedBroker, topics: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("outage")
    swap = {"timeout_s": 5, "linger_s": 1}
    with App(config(own_broker.bootstrap, fresh_name("o"), topics, folder, swap=swap)) as started:
        started.wait_live()
        yield started


def test_a_swap_that_does_not_warm_fails_and_the_old_one_stays(app: App) -> None:
    before, rows, publication = live_row(app), app.rows("final_ui"), app.publication
    with held_feeds():
        verdict = app.verdict(app.control({"joinType": "inner"}))
    assert (verdict["result"], verdict["reason"]) == ("failed", "not warm within 5 s (swap.timeout_s)")
    assert (live_row(app)["runId"], app.rows("final_ui"), app.publication) == (before["runId"], rows, publication)
    failed = [row for row in app.rows("generations") if row["generation"] == before["generation"] + 1]
    assert [(row["state"], row["reason"]) for row in failed] == [("failed", verdict["reason"])]
    wait_until(lambda: context(app).topics.list().keys() == {before["generation"]}, "its changelog deleted")


def test_everything_resumes_after_an_outage_of_the_broker(own_broker: EmbeddedBroker, app: App, topics: Pair) -> None:
    before, rows = live_row(app), app.rows("final_ui")
    Records(own_broker.bootstrap).send(topics[0], [user(number) for number in range(100, 120)])
    own_broker.kill()
    since = time.monotonic()
    stale = app.wait_for(lambda status: status["state"] == "stale", "the status stale")
    assert stale["message"].startswith("not kept up to date for ")
    assert any("does not answer" in line for line in app.logs)
    wait_until(lambda: time.monotonic() - since > OUTAGE_S, "the outage")
    assert len(app.rows("final_ui")) >= len(rows)
    own_broker.start()
    Records(own_broker.bootstrap).send(topics[0], [user(number) for number in range(120, 140)])
    expected = {f"a {number}" for number in (*range(10), *range(100, 140))}
    wait_until(lambda: names(app) == expected, "all rows, from before and after")
    assert app.wait_live()["generation"] == before["generation"]
    wait_until(lambda: any("answers again" in line for line in app.logs))
    assert app.verdict(app.control({"joinType": "left"}))["result"] == "unchanged"
