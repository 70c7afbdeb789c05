"""From a producer to a viewer: Kafka, Spark, the changelog, tables, and a socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from tests.engine.conftest import NewGeneration
from tests.engine.rig import Generation, Sent
from tests.live.samples import settings
from tests.server.viewers import Viewer
from tests.server_thread import ServerThread

from evertable.changelog.schema import Side
from evertable.config import JoinType
from evertable.engine.protocol import EngineEvent, EpochCommitted
from evertable.generations.feed import Feed
from evertable.server.app import App
from evertable.tables.catalog import Catalog
from evertable.tables.generation import GenerationTables


def user(number: int) -> Sent:
    return Sent(Side.LEFT, json.dumps({"userId": f"u{number}", "name": f"name {number}", "age": number}).encode())


def account(number: int, balance: float) -> Sent:
    record = {"userId": f"u{number}", "accountType": "chq", "balance": balance}
    return Sent(Side.RIGHT, json.dumps(record).encode())


@contextmanager
def following(generation: Generation, feed: Feed) -> Iterator[None]:
    """Runs the query and passes its commits to the feed."""

    def forward(event: EngineEvent) -> None:
        if isinstance(event, EpochCommitted) and event.generation == generation.number:
            feed.committed()

    generation.engine.listen(forward)
    generation.engine.start(generation.built.spec)
    yield
    generation.engine.listen(None)


@pytest.mark.parametrize("join", [JoinType.LEFT, JoinType.NATURAL])
def test_a_viewer_sees_what_is_sent(new_generation: NewGeneration, join: JoinType) -> None:
    """First the backlog, then each new record, bad ones in the dead letters; nothing is mocked."""
    catalog = Catalog(["users_ui", "accounts_ui", "final_ui", "dead_letters"])
    app = App(catalog, chosen := settings())
    with new_generation(join) as generation, ServerThread(app, chosen) as server:
        generation.send([user(n) for n in range(20)])
        generation.build()
        config, warm = generation.config, threading.Event()
        tables = GenerationTables(config.left, config.right, join, on_change=catalog.notify)
        reader = generation.built.reader(config)
        feed = Feed(reader, tables, generation.built.backlog, on_caught_up=warm.set)
        with closing(feed.start()), following(generation, feed), Viewer(server.url) as viewer:
            users = viewer.subscribe("users_ui", "users", sort=["age"])
            final = viewer.subscribe("final_ui", "final", sort=["-balance"], limit=3)
            letters = viewer.subscribe("dead_letters", "letters")
            assert len(viewer.waiting) == 3
            assert warm.wait(60)
            shown = (tables.left, tables.right, tables.joined, tables.dead_letters)
            catalog.publish(1, dict(zip(catalog.names, shown, strict=True)))
            viewer.until(lambda: users.total == 20 and final.total == 20 and letters.page)
            assert users.rows[3] == ["u3", "name 3", 3]
            for balance in (10.5, 20.5, 30.5):
                generation.send([account(7, balance)])
                viewer.until(lambda b=balance: final.rows[0] == ["u7", "name 7", 7, "chq", b])  # type: ignore[misc]
            generation.send([Sent(Side.RIGHT, b"not json")])
            viewer.until(lambda: letters.total == 1)
            assert letters.rows[0][0] == "accounts"
            viewer.until(lambda: final.total == (20 if join is JoinType.NATURAL else 22))
