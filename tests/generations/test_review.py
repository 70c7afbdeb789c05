"""What looks wrong in a generation's tables is found, logged once, and shown in the status while it lasts."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from tests.changelog.encoder import Encoder, SourceRef
from tests.generations.cases import live_on
from tests.reference.histories import COLUMNS
from tests.tables.contents import INPUTS

from evertable.changelog.decode import Decoder
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.config.names import OwnTopics
from evertable.control.messages import ControlKeys
from evertable.generations.review import (
    ENOUGH,
    Figures,
    FindingKind,
    Review,
    SourceFigures,
    compare,
)
from evertable.generations.status import StatusReporter
from evertable.generations.status_tables import LOGS, STATUS, StatusTables
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring
from evertable.tables.generation import GenerationTables

SCHEMA = ChangelogSchema(*COLUMNS, JoinType.LEFT)
REASON = 'age: "42" is no long'


class FilledTables:
    """Tables of a generation that tests fill record by record."""

    def __init__(self) -> None:
        self.tables = GenerationTables(*INPUTS, JoinType.LEFT)
        self.next = 0

    def rejected(self, count: int, reason: str = REASON, side: Side = Side.LEFT) -> None:
        self._fold(Encoder(SCHEMA).reject(self._place(side), reason, b"{}") for _ in range(count))

    def rows(self, count: int, *values: Any) -> None:
        self._fold(Encoder(SCHEMA).row(self._place(Side.LEFT), list(values)) for _ in range(count))

    def found(self, least: int = 1) -> list[str]:
        return [finding.sentence for finding in Review.of(Figures.of(self.tables), None, least=least).broken]

    def _place(self, side: Side) -> SourceRef:
        self.next += 1
        return SourceRef(side, 0, self.next, 0)

    def _fold(self, lines: Any) -> None:
        self.tables.fold(Decoder(SCHEMA).decode(list(lines)))


def test_records_that_are_all_rejected() -> None:
    """They are reported with the latest reason as long as there is no row."""
    filled = FilledTables()
    filled.rejected(ENOUGH - 1)
    assert filled.found(ENOUGH) == []
    filled.rejected(1, "not JSON")
    filled.rejected(1, "of the other source", Side.RIGHT)
    assert filled.found(ENOUGH) == [
        "All 100 records of 'users_v1' (users) were rejected, the latest because: not JSON. "
        "Compare sources.users.columns with what is sent."
    ]
    filled.rejected(23)
    assert filled.found(ENOUGH)[0].startswith("All 123 records of 'users_v1'")
    filled.rows(1, "u1", "Ada", 36)
    assert filled.found(ENOUGH) == []


def test_few_records_are_judged_once_the_backlog_is_read() -> None:
    filled = FilledTables()
    assert filled.found() == []
    filled.rejected(1)
    assert filled.found(ENOUGH) == []
    [sentence] = filled.found()
    assert sentence.startswith(f"The only record so far of 'users_v1' (users) was rejected because: {REASON}.")


def test_rows_without_a_key() -> None:
    """A key that is misspelled in the configuration is null in every row."""
    filled = FilledTables()
    filled.rows(ENOUGH, None, "Ada", 36)
    assert filled.found(ENOUGH) == [
        f"None of the 100 rows of 'users_v1' (users) has a value for the key '{INPUTS[0].key}', so nothing can match. "
        "Check that sources.users.key is spelled as in the records."
    ]
    filled.rows(1, "u1", "Ada", 36)
    assert filled.found() == []


def test_rows_without_a_value_besides_the_key() -> None:
    filled = FilledTables()
    filled.rows(2, "u1", None, None)
    [sentence] = filled.found()
    assert sentence.startswith("None of the 2 rows of 'users_v1' (users) has a value in any column besides the key")
    filled.rows(1, "u1", None, 36)
    assert filled.found() == []


def figures(users: SourceFigures | None = None, accounts: SourceFigures | None = None, **more: Any) -> Figures:
    values: dict[str, Any] = {"join": JoinType.LEFT, "joined_rows": 1_000, "has_matches": True, **more}
    return Figures((users or source(), accounts or source("accounts", "accounts_v1")), **values)


def source(name: str = "users", topic: str = "users_v1", rows: int = 1_000, rejected: int = 0, **nulls: int) -> Any:
    columns = {"userId": 0, "name": 0, "age": 0, **nulls}
    return SourceFigures(name, topic, "userId", rows, rejected, columns, {})


def test_a_good_swap_has_no_warning() -> None:
    assert compare(figures(source(topic="users_v2", rows=200)), figures()) == []


def test_warnings_about_a_new_topic() -> None:
    """They are about null columns, far fewer rows and no match. A topic that was live before is not judged again."""
    odd = source(topic="users_v2", rows=100, age=100)
    found = compare(figures(odd, joined_rows=100), figures())
    assert [finding.sentence for finding in found] == [
        "No row of 'users_v2' (users) has a value for 'age'; rows read: 100.",
        "'users_v2' (users) has 100 rows; 'users_v1' had 1,000.",
        "The joined table has 100 rows; before the swap it had 1,000.",
    ]
    assert compare(figures(odd), figures(odd)) == []
    [nothing] = compare(figures(source(topic="users_v2"), has_matches=False), figures())
    assert (nothing.kind, nothing.sentence) == (
        FindingKind.NO_MATCHES,
        "No row of 'users_v2' matches any row of 'accounts_v1'.",
    )


def test_an_empty_topic_is_fine() -> None:
    empty = source(topic="users_v2", rows=0)
    now = figures(empty, joined_rows=0, has_matches=False)
    assert Review.of(now, figures()).findings == ()


def test_another_join_may_have_far_fewer_rows() -> None:
    assert compare(figures(join=JoinType.INNER, joined_rows=1), figures()) == []


def test_a_swap_is_held_for_a_new_topic_only() -> None:
    """Another join of a topic that looked broken before is not held."""
    broken = source(topic="users_v2", rows=0, rejected=7)
    was, wanted = (Wiring(topic, "accounts_v1", JoinType.LEFT) for topic in ("users_v1", "users_v2"))
    held = Review.of(figures(broken), figures(), was)
    assert len(held.broken) == 1
    assert held.broken[0].sentence.startswith("All 7 records of 'users_v2' (users) were rejected")
    assert '"force": true' in held.hold_reason
    assert Review.of(figures(broken), figures(broken), wanted).broken == ()


def test_a_swap_that_exchanges_both_topics_is_held() -> None:
    """Each topic was live before, but as the other source, whose columns it does not have."""
    users, accounts = source(topic="accounts_v1", rows=9, userId=9), source("accounts", "users_v1", rows=0, rejected=7)
    was = Wiring("users_v1", "accounts_v1", JoinType.LEFT)
    assert len(Review.of(figures(users, accounts), figures(), was).broken) == 2


def test_rejections_are_counted_by_column() -> None:
    filled = FilledTables()
    filled.rejected(2, "WRONG_TYPE: column 'age' wants long, found text")
    filled.rejected(1, "NOT_AN_OBJECT: the value is a list")
    [users, _] = Figures.of(filled.tables).sources
    assert (users.rejected, users.rejected_by_column) == (3, {"age": 2})


def test_a_finding_is_logged_once_and_in_the_status_while_it_lasts() -> None:
    filled = FilledTables()
    reporter, status_tables, _ = reporting(filled)
    filled.rejected(3)
    reporter.show()
    reporter.show()
    [(_, level, message)] = status_tables.tables[LOGS].rows()
    assert (level, message[:31]) == ("WARN", "Generation 1: All 3 records of ")
    assert (
        status_tables.tables[STATUS]
        .rows()[0][-1]
        .startswith("All 3 records of 'users_v1' (users) were rejected, the latest")
    )
    filled.rows(1, "u1", "Ada", 36)
    reporter.show()
    assert status_tables.tables[STATUS].rows()[0][-1] == ""
    assert len(status_tables.tables[LOGS].rows()) == 1


def test_during_an_outage_tables_are_live_only_while_rows_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row that was on its way when the connections died does not make them live."""
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    reporter, status_tables, feed = reporting(FilledTables())

    def state() -> object:
        reporter.show()
        return status_tables.tables[STATUS].rows()[0][-3]

    reporter.set_kafka_outage("Kafka at k:9092 does not answer.")
    assert state() == "stale"
    now += 1
    feed.last_fold = now
    assert state() == "live"
    now += 30
    assert state() == "stale"


def reporting(filled: FilledTables) -> tuple[StatusReporter, StatusTables, Any]:
    """Returns a reporter of one live generation, its tables, and the generation's feed."""
    wiring = Wiring("users_v1", "accounts_v1", JoinType.LEFT)
    keys = ControlKeys("usersTopic", "accountsTopic", OwnTopics("e", "a", ""))
    life, status_tables = live_on(wiring), StatusTables(keys, lambda: None)
    feed = SimpleNamespace(
        tables=filled.tables, is_caught_up=True, is_full=False, read_error="", last_fold=1.0, is_replaying=False
    )
    assert life.live is not None
    running: Any = SimpleNamespace(
        source_problems={},
        replaced_figures=None,
        number=life.live.number,
        wiring=wiring,
        feed=feed,
        rows=0,
        stale_reason="",
        last_running=1.0,
        started=None,
        progress=None,
        created="",
        published="",
    )
    return (
        StatusReporter(life, status_tables, {running.number: running}, lambda record: None, None),
        status_tables,
        feed,
    )
