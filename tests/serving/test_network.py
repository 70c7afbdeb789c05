"""Swaps over a bad network: connections that were silently dropped, a black hole, latency."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.proxy import Proxy, broker_behind_proxy
from tests.serving.faults import changelogs, fresh_name, make_topic
from tests.serving.rig import App, Records, config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker

Pair = tuple[str, str]
RETRIED = "retrying after [KAFKA_UNREACHABLE]"


@pytest.fixture(scope="module")
def behind_proxy() -> Iterator[tuple[EmbeddedBroker, Proxy]]:
    with broker_behind_proxy() as both:
        yield both


@pytest.fixture
def pairs(behind_proxy: tuple[EmbeddedBroker, Proxy]) -> list[Pair]:
    broker, _ = behind_proxy
    made = [(fresh_name("users"), fresh_name("accounts")) for _ in range(3)]
    records = Records(broker.bootstrap)
    for mark, topics in zip("abc", made, strict=True):
        for topic in topics:
            make_topic(broker.bootstrap, topic, 2)
        records.fill(topics, mark)
    return made


@pytest.fixture
def app(behind_proxy: tuple[EmbeddedBroker, Proxy], pairs: list[Pair], tmp_path: Path) -> Iterator[App]:
    swap = {"linger_s": 0, "timeout_s": 120}
    with App(config(behind_proxy[1].bootstrap, f"t{uuid.uuid4().hex[:12]}", pairs[0], tmp_path, swap=swap)) as app:
        app.wait_live()
        yield app
        behind_proxy[1].heal()


def wired(topics: Pair) -> dict[str, str]:
    return {"usersTopic": topics[0], "accountsTopic": topics[1]}


def _swap_into_a_black_hole(app: App, proxy: Proxy, topics: Pair) -> tuple[int, int]:
    """Sends a control message, and returns when its build has timed out and is retried."""
    place = app.control(wired(topics))
    proxy.delay_ms = 1_000  # the build must not be quicker than the black hole, on a busy machine too
    wait_until(lambda: any("Building generation 2" in line for line in app.logs), "the build")
    proxy.black_hole()
    wait_until(lambda: any(RETRIED in line for line in app.logs), lambda: f"a retry: {app.logs}")
    return place


def test_a_swap_after_all_connections_were_silently_dropped_is_applied(
    behind_proxy: tuple[EmbeddedBroker, Proxy], pairs: list[Pair], app: App
) -> None:
    """It is accepted, read, built and published, and the changelog that it replaces is deleted."""
    broker, proxy = behind_proxy
    proxy.drop_established()
    verdict = app.verdict(app.control(wired(pairs[1])))
    assert (verdict["result"], verdict["reason"]) == ("applied", "")
    assert {row["name"][0] for row in app.rows("users_ui")} == {"b"}
    proxy.drop_established()
    live = app.wait_live()["generation"]
    changelog = f"evertable.{app.config.app}.g{live:06d}"
    wait_until(
        lambda: changelogs(broker.bootstrap, app.config.app) == [changelog],
        lambda: f"only {changelog}: {changelogs(broker.bootstrap, app.config.app)}",
    )


def test_a_build_that_kafka_does_not_answer_is_retried(
    behind_proxy: tuple[EmbeddedBroker, Proxy], pairs: list[Pair], app: App
) -> None:
    _, proxy = behind_proxy
    place = _swap_into_a_black_hole(app, proxy, pairs[1])
    proxy.heal()
    assert app.verdict(place)["result"] == "applied"


def test_a_newer_message_ends_the_retries(
    behind_proxy: tuple[EmbeddedBroker, Proxy], pairs: list[Pair], app: App
) -> None:
    _, proxy = behind_proxy
    first = _swap_into_a_black_hole(app, proxy, pairs[1])
    proxy.heal()
    second = app.control(wired(pairs[2]))
    assert app.verdict(second)["result"] == "applied"
    assert app.verdict(first)["result"] in ("superseded", "applied")
    assert {row["name"][0] for row in app.rows("users_ui")} == {"c"}
