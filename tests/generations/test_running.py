"""A running generation knows whether its query has reached again where it failed."""

from __future__ import annotations

import queue
from contextlib import closing
from types import SimpleNamespace
from typing import Any

from tests.changelog.encoder import Encoder, SourceRef
from tests.reference.histories import COLUMNS
from tests.tables.contents import INPUTS
from tests.waiting import wait_until

from evertable.changelog.changes import Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.positions import Backlog
from evertable.changelog.reader import ChangelogReader
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.engine.protocol import Started
from evertable.generations.feed import Feed
from evertable.generations.running import RunningGeneration
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring
from evertable.tables.generation import GenerationTables

SCHEMA = ChangelogSchema(*COLUMNS, JoinType.LEFT)
ROW = Encoder(SCHEMA).row(SourceRef(Side.LEFT, 0, 3, 0), ["u1", "Ada", 36])


class Rows(ChangelogReader):
    """A reader that returns what the test puts."""

    def __init__(self) -> None:
        self.messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    @property
    def positions(self) -> dict[int, int]:
        return {}

    def poll(self, timeout_s: float) -> Changes | None:
        try:
            return Decoder(SCHEMA).decode([self.messages.get(timeout=timeout_s)])
        except queue.Empty:
            return None

    def reopen(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_query_has_replayed_once_it_is_where_it_had_been() -> None:
    """A barrier shows it, also if there is nothing to replay because the failed query had just committed."""
    context: Any = SimpleNamespace(post=lambda event: None)
    running = RunningGeneration(context, 7, Wiring("l", "r", JoinType.LEFT))
    reader = Rows()
    with closing(Feed(reader, GenerationTables(*INPUTS, JoinType.LEFT), Backlog({}, {})).start()) as feed:
        running.feed = feed
        reader.messages.put(ROW)
        wait_until(lambda: feed.folded == 1)
        running.query_failed("Spark ended")
        running.query_started(Started(7, "q", "r"))
        assert feed.is_replaying
        reader.messages.put(Encoder(SCHEMA).barrier({(Side.LEFT, 0): 3}))
        wait_until(lambda: feed.folded == 2)
        assert feed.is_replaying
        reader.messages.put(Encoder(SCHEMA).barrier({(Side.LEFT, 0): 4}))
        wait_until(lambda: not feed.is_replaying)
