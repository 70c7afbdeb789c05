"""A running generation knows what its query has committed, also what a failed query could not report."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.changelog.encoder import Encoder, SourceRef
from tests.reference.histories import COLUMNS
from tests.tables.contents import INPUTS
from tests.waiting import wait_until

from evertable.changelog.caught_up import CaughtUp
from evertable.changelog.changes import Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.reader import ChangelogReader
from evertable.changelog.resumption import ChangelogEnd
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.engine.protocol import Started
from evertable.generations.commits import Commits
from evertable.generations.feed import Feed
from evertable.generations.running import RunningGeneration
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring
from evertable.tables.generation import GenerationTables

SCHEMA = ChangelogSchema(*COLUMNS, JoinType.LEFT)
ROW = Encoder(SCHEMA).row(SourceRef(Side.LEFT, 0, 3, 0), ["u1", "Ada", 36])


class OneRow(ChangelogReader):
    """A reader that returns one row, then nothing."""

    def __init__(self) -> None:
        self.read = 0

    @property
    def positions(self) -> dict[int, int]:
        return {0: self.read}

    def poll(self, timeout_s: float) -> Changes | None:
        if self.read:
            time.sleep(timeout_s)
            return None
        self.read = 1
        return Decoder(SCHEMA).decode([ROW])

    def reopen(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_commit_that_a_failed_query_did_not_report_counts_when_it_runs_again(tmp_path: Path) -> None:
    """It then has nothing to replay, so its tables are not stale until the next record."""
    context: Any = SimpleNamespace(post=lambda event: None)
    running = RunningGeneration(context, 7, Wiring("l", "r", JoinType.LEFT))
    left, right = SimpleNamespace(topic="l"), SimpleNamespace(topic="r")
    built: Any = SimpleNamespace(spec=SimpleNamespace(left=left, right=right, checkpoint=str(tmp_path)))
    running.built = built
    with closing(Feed(OneRow(), GenerationTables(*INPUTS, JoinType.LEFT), CaughtUp({})).start()) as feed:
        running.feed = feed
        running._commits = Commits(lambda: ChangelogEnd("id", {0: 1}), running._committed)
        wait_until(lambda: feed.folded == 1)
        for name, text in (("commits/0", "v1\n{}"), ("offsets/0", 'v1\n{}\n{"l":{"0":4}}\n-')):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text(text)
        running.query_failed("Spark ended")
        assert feed.is_replaying
        running.query_started(Started(7, "q", "r"))
        wait_until(lambda: not feed.is_replaying)
