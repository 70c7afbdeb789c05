"""Expensive filters over rows that came through Kafka and Spark delay nobody else, and end."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
from tests.serving.rig import App, Records, config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker

ROWS = 32
LARGE = "é" + "aA" * 450_000  # about the largest record that Kafka accepts by default
EXPENSIVE = " or ".join(f"name contains 'aab{number:02}'" for number in range(70))
QUICK = ("/api/status", "/metrics", "/api/tables", "/api/tables/users_ui/rows?columns=userId", "/healthz")
TIMEOUT_S = 5.0
PATIENCE_S = 60.0


def test_expensive_filters_delay_nobody(
    broker: EmbeddedBroker, new_topic: Callable[..., str], records: Records, tmp_path: Path
) -> None:
    """There are more of them than workers, from one address; a text too long to search for is refused."""
    topics = new_topic(1), new_topic(1)
    records.send(topics[0], ({"userId": f"u{number}", "name": LARGE, "age": number} for number in range(ROWS)))
    records.send(topics[1], [{"userId": "u1", "accountType": "chq", "balance": 1.0}])
    server = {"port": 0, "query_timeout_s": TIMEOUT_S}
    with App(config(broker.bootstrap, f"t{uuid.uuid4().hex[:12]}", topics, tmp_path, server=server)) as app:
        app.wait_live()
        wait_until(lambda: len(app.rows("users_ui", columns="userId")) == ROWS, "all rows")

        def ask(filter_: str) -> httpx.Response:
            parameters = {"filter": filter_, "columns": "userId", "limit": "1"}
            return httpx.get(f"{app.url}/api/tables/users_ui/rows", params=parameters, timeout=PATIENCE_S)

        refused = ask(f"name contains '{'a' * 1_499}b'")
        assert (refused.status_code, refused.json()["condition"]) == (400, "FILTER_INVALID")
        found = [ask(f"name contains '{part}'").json()["total"] for part in ("a" * 499 + "b", "A" * 500)]
        assert found == [0, ROWS]
        with ThreadPoolExecutor(8) as pool:
            slow: list[Future[httpx.Response]] = [pool.submit(ask, f"{EXPENSIVE} or age < -{n}") for n in range(8)]
            for path in QUICK:
                assert httpx.get(f"{app.url}{path}", timeout=PATIENCE_S).status_code == 200
            assert not all(one.done() for one in slow), "the filters were not expensive enough to show anything"
        assert {one.result().status_code for one in slow} <= {200, 503, 504}
        assert ask("age = 3").json()["total"] == 1
