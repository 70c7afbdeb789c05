"""Many swaps under load: viewers see whole generations only, and no resource is leaked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.reference.joins import Row
from tests.serving.inside import PLACE, Memory, at_once, held, memory, reference
from tests.serving.rig import ACCOUNTS, USERS, App, config
from tests.serving.traffic import Traffic
from tests.serving.viewers import Viewers
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.config import Config
from evertable.schema.joins import JoinType

SWAPS, VIEWERS, PER_SECOND = 20, 20, 500
TABLES = ("users_ui", "accounts_ui", "final_ui")
JOINS = [JoinType.INNER, JoinType.LEFT, JoinType.NATURAL, JoinType.ASOF]

Pairs = dict[str, tuple[str, str]]


@pytest.fixture
def marked(new_topic: Callable[..., str]) -> Pairs:
    """Makes three pairs of topics of two partitions, by the mark of their records."""
    return {mark: (new_topic(2), new_topic(2)) for mark in "abc"}


@pytest.fixture
def configuration(broker: EmbeddedBroker, marked: Pairs, tmp_path: Path) -> Config:
    """Adds the position in the topic to each row, so that the join can be computed from the tables."""
    users, accounts = marked["a"]
    sources: dict[str, Any] = {
        "users": {"topic": users, "key": "userId", "columns": {**USERS, **PLACE["u"]}},
        "accounts": {"topic": accounts, "key": "userId", "columns": {**ACCOUNTS, **PLACE["a"]}},
    }
    return config(broker.bootstrap, "load", marked["a"], tmp_path, sources=sources, swap={"linger_s": 1})


def request(pair: tuple[str, str], join: JoinType) -> dict[str, str]:
    return {"usersTopic": pair[0], "accountsTopic": pair[1], "joinType": join.value}


def swap(app: App, pair: tuple[str, str], join: JoinType) -> None:
    verdict = app.verdict(app.control(request(pair, join)))
    assert (verdict["result"], verdict["reason"]) == ("applied", "")


def settle(app: App) -> int:
    """Waits until all other generations are cleaned up, and returns the live one."""
    live = int(app.status["generation"])
    done = ("retired", "failed", "superseded")

    def is_over() -> bool:
        rows = app.rows("generations", filter=f"generation != {live}")
        return all(row["state"] in done and row["retired"] for row in rows)

    wait_until(is_over, "the end of all other generations")
    return live


def memory_on(app: App, pair: tuple[str, str]) -> Memory:
    """Measures the memory while only this pair is live."""
    swap(app, pair, JoinType.LEFT)
    settle(app)
    return memory(app)


def dicts(rows: list[Row], names: list[str], side: str) -> list[dict[str, Any]]:
    """Returns rows as tables show them."""
    columns = [*names, f"{side}_p", f"{side}_o", f"{side}_t"]
    places = [(row.partition, row.offset, row.timestamp) for row in rows]
    return [dict(zip(columns, (*row.values, *place), strict=True)) for row, place in zip(rows, places, strict=True)]


def test_swaps_under_load_are_correct_and_leak_nothing(
    broker: EmbeddedBroker, configuration: Config, marked: Pairs
) -> None:
    arrow_before = pa.total_allocated_bytes()
    traffic = Traffic(broker.bootstrap, marked)
    traffic.send(600)
    with App(configuration) as app:
        app.wait_live()
        app.verdict(app.control({}))  # starts the writer of control messages, which stays
        before = held(app, broker.bootstrap)
        wirings = list(islice(zip(cycle("bca"), cycle(JOINS), strict=False), SWAPS))
        with Viewers(app.url, VIEWERS, TABLES) as viewers:
            with traffic.flow(PER_SECOND):
                for mark, join in wirings:
                    swap(app, marked[mark], join)
                    seen = at_once(app)
                    assert Counter(seen.joined) == seen.reference(join)
                    assert not viewers.problems
                traffic.pause()
            assert traffic.count > 2_000  # records did flow
            mark, join = wirings[-1]
            users, accounts = (traffic.sent[topic] for topic in marked[mark])
            wait_until(lambda: len(at_once(app).users) == len(users), "all users that were sent")
            wait_until(lambda: len(at_once(app).accounts) == len(accounts), "all accounts that were sent")
            seen = at_once(app)
            sent = dicts(users, list(USERS), "u"), dicts(accounts, list(ACCOUNTS), "a")
            assert Counter(seen.joined) == reference(join, seen.columns, *sent)
            live = settle(app)
            wait_until(lambda: viewers.publications() == {app.publication}, "all viewers on the last publication")
            assert not viewers.problems
        topics = {pair: mark for mark, pair in marked.items()}
        generations = app.rows("generations")
        for row in generations:
            pair = topics[row["usersTopic"], row["accountsTopic"]]
            assert viewers.marks.get(row["generation"], pair) == pair
        assert len(viewers.marks) >= SWAPS
        assert live == SWAPS + 1
        with suppress(AssertionError):  # the next line shows the difference
            wait_until(lambda: held(app, broker.bootstrap) == before, "what was held at the start")
        assert held(app, broker.bootstrap) == before
        assert memory(app).arrow - arrow_before < 1.2 * memory(app).tables  # no more than one generation takes
        first = memory_on(app, marked["a"])
        for mark in "bc":
            swap(app, marked[mark], JoinType.LEFT)
        again = memory_on(app, marked["a"])
        assert again.arrow + again.tables == pytest.approx(first.arrow + first.tables, rel=0.2)
        assert again.resident < 1.2 * first.resident
