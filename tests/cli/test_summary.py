"""The texts of ``evertable status``."""

from __future__ import annotations

from typing import Any

from evertable.cli.summary import duration, summary

STATUS: dict[str, Any] = {
    "ready": True,
    "generation": 7,
    "publication": 9,
    "orchestrator": {
        "usersTopic": "users_v1",
        "accountsTopic": "accounts_v1",
        "joinType": "left",
        "lastApplied": "2026-01-31T09:00:00.000Z",
        "generation": 7,
        "state": "live",
        "rows": 1_100_000,
        "message": "all is \x1b[31mwell",
    },
    "memory": {"process_bytes": 312_000_000},
    "flow": {"rows_per_s": 120.46, "lag": 1_003, "data_age_s": 0.4},
    "build": {"generation": 8, "fraction": 0.424, "rows": 4_000},
}
GENERATIONS = [
    {"generation": 8, "usersTopic": "u2", "accountsTopic": "a2", "joinType": "asof", "state": "warming", "rows": 3_000},
    {"generation": 7, "usersTopic": "u1", "accountsTopic": "a1", "joinType": "left", "state": "live", "rows": 5},
    {"generation": 6, "usersTopic": "u1", "accountsTopic": "a1", "joinType": "left", "state": "lingering", "rows": 5},
    {"generation": 5, "usersTopic": "u1", "accountsTopic": "a1", "joinType": "left", "state": "lingering", "rows": 5},
    {"generation": 4, "usersTopic": "u1", "accountsTopic": "a1", "joinType": "left", "state": "failed", "rows": 0},
]


def test_everything() -> None:
    """All facts have labels and units, and control characters are escaped."""
    found = summary(STATUS, GENERATIONS)
    assert found.facts == {
        "wiring": "users_v1, left join with accounts_v1",
        "state": "live",
        "generation": "7, publication 9",
        "rows": "1,100,000",
        "rows/s": "120.5",
        "lag": "1,003 records",
        "data age": "400 ms",
        "last applied": "2026-01-31T09:00:00.000Z",
        "lingering": "generation 5, 6: a rollback is instant",
        "memory": "312 MB",
        "message": "all is \\u001b[31mwell",
    }
    assert found.progress == "generation 8 is warming: u2, asof join with a2, 4,000 rows, 42%"
    assert found.line() == (
        "live; users_v1, left join with accounts_v1; generation 7, publication 9; rows 1,100,000; rows/s 120.5; "
        "lag 1,003 records; data age 400 ms; message all is \\u001b[31mwell; "
        "generation 8 is warming: u2, asof join with a2, 4,000 rows, 42%"
    )


def test_unknown_facts_are_left_out() -> None:
    """Nothing is live before the first generation, or without an orchestrator."""
    start = {"ready": False, "generation": 0, "publication": 0, "orchestrator": None, "memory": STATUS["memory"]}
    facts = {"wiring": "not known yet", "state": "not ready", "memory": "312 MB"}
    assert summary(start).facts == facts
    assert summary(start).progress == ""
    assert summary({**start, "ready": True}).facts["state"] == "ready"


def test_progress_of_another_generation_is_ignored() -> None:
    """The status and the generations are requested one after the other."""
    found = summary({**STATUS, "build": {"generation": 7, "fraction": 0.9, "rows": 5}}, GENERATIONS)
    assert found.progress == "generation 8 is warming: u2, asof join with a2, 3,000 rows"
    assert summary(STATUS, GENERATIONS[1:]).progress == ""


def test_durations() -> None:
    texts = [duration(seconds) for seconds in (0.0004, 0.9994, 1.25, 119.9, 150, 7199, 7200, 90_000)]
    assert texts == ["0 ms", "999 ms", "1.2 s", "119.9 s", "2 min", "120 min", "2.0 h", "25.0 h"]
