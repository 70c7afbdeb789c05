"""Tables of which something looks wrong are told of, once in the log and as long as it is so in the status."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.generations.test_life import live_on
from tests.reference.histories import COLUMNS
from tests.tables.test_generation import INPUTS

from evertable.changelog.decode import Decoder
from evertable.changelog.encode import Encoder, RecordOf
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.config.joins import JoinType
from evertable.config.names import OwnTopics
from evertable.control.messages import ControlKeys
from evertable.control.wiring import Wiring
from evertable.generations.desk import LOGS, STATUS, Desk
from evertable.generations.display import Display
from evertable.generations.doubts import ENOUGH, Doubts
from evertable.tables.generation import GenerationTables

SCHEMA = ChangelogSchema(*COLUMNS, JoinType.LEFT)
REASON = 'age: "42" is no long'


class Told:
    """Tables of a generation that tests fill record by record."""

    def __init__(self) -> None:
        self.tables = GenerationTables(*INPUTS, JoinType.LEFT)
        self.next = 0

    def rejected(self, count: int, reason: str = REASON, side: Side = Side.LEFT) -> None:
        self._fold(Encoder(SCHEMA).reject(self._place(side), reason, b"{}") for _ in range(count))

    def rows(self, count: int, *values: Any) -> None:
        self._fold(Encoder(SCHEMA).row(self._place(Side.LEFT), list(values)) for _ in range(count))

    def _place(self, side: Side) -> RecordOf:
        self.next += 1
        return RecordOf(side, 0, self.next, 0)

    def _fold(self, lines: Any) -> None:
        self.tables.fold(Decoder(SCHEMA).decode(list(lines)))


def test_records_that_are_all_rejected() -> None:
    """Told with the latest reason once there were enough of them, and once only; as long as no row has come."""
    told = Told()
    doubts = Doubts(told.tables)
    told.rejected(ENOUGH - 1)
    assert doubts.news(caught_up=False) == []
    told.rejected(1, "not JSON")
    told.rejected(1, "of the other source", Side.RIGHT)
    [sentence] = doubts.news(caught_up=False)
    assert sentence == (
        "All 100 records of 'users_v1' (users) were rejected, the latest because: not JSON. See the table "
        "dead_letters, and compare sources.users.columns with what is sent."
    )
    told.rejected(23)
    assert doubts.news(caught_up=False) == []
    assert doubts.now(caught_up=False)[0].startswith("All 123 records of 'users_v1'")
    told.rows(1, "u1", "Ada", 36)
    assert doubts.now(caught_up=False) == []


def test_few_records_count_if_there_were_no_more() -> None:
    told = Told()
    doubts = Doubts(told.tables)
    assert doubts.now(caught_up=True) == []
    told.rejected(1)
    assert doubts.now(caught_up=False) == []
    [sentence] = doubts.now(caught_up=True)
    assert sentence.startswith(f"The only record so far of 'users_v1' (users) was rejected because: {REASON}.")


def test_rows_without_a_key() -> None:
    """A key that is misspelled in the configuration is null in every row, and nothing else tells of it."""
    told = Told()
    doubts = Doubts(told.tables)
    told.rows(ENOUGH, None, "Ada", 36)
    [sentence] = doubts.news(caught_up=False)
    assert sentence == (
        f"None of the 100 rows of 'users_v1' (users) has a value for the key '{INPUTS[0].key}', so nothing can match. "
        "Check that sources.users.key is spelled as in the records."
    )
    told.rows(1, "u1", "Ada", 36)
    assert doubts.now(caught_up=True) == []
    told.rows(1, None, "Bob", 36)
    assert doubts.now(caught_up=True) == []


def test_the_log_says_it_once_and_the_status_as_long_as_it_is_so() -> None:
    told = Told()
    wiring = Wiring("users_v1", "accounts_v1", JoinType.LEFT)
    life, desk = (
        live_on(wiring),
        Desk(ControlKeys("usersTopic", "accountsTopic", OwnTopics("e", "a", "")), lambda: None),
    )
    feed = SimpleNamespace(
        tables=told.tables, is_caught_up=True, is_full=False, kept_out="", newest=1.0, is_replaying=False
    )
    assert life.live is not None
    running: Any = SimpleNamespace(
        troubles={},
        number=life.live.number,
        wiring=wiring,
        feed=feed,
        rows=0,
        stale="",
        started=None,
        progress=None,
        created="",
        published="",
    )
    display = Display(life, desk, {running.number: running}, lambda record: None, None)
    told.rejected(3)
    display.show()
    display.show()
    [(_, level, said)] = desk.tables[LOGS].rows()
    assert (level, said[:31]) == ("WARN", "Generation 1: All 3 records of ")
    assert desk.tables[STATUS].rows()[0][-1].startswith("All 3 records of 'users_v1' (users) were rejected, the latest")
    told.rows(1, "u1", "Ada", 36)
    display.show()
    assert desk.tables[STATUS].rows()[0][-1] == ""
    assert len(desk.tables[LOGS].rows()) == 1
