"""What ``evertable status`` makes of whatever a server tells."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evertable.cli.overview import Overview, duration

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
        "message": "all is well",
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
    seen = Overview.of(STATUS, GENERATIONS)
    assert dict(seen.lines()) == {
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
        "message": "all is well",
    }
    assert seen.progress is not None
    assert seen.progress.line() == "generation 8 is warming: u2, asof join with a2, 4,000 rows, 42%"
    assert seen.line() == (
        "live; users_v1, left join with accounts_v1; generation 7, publication 9; rows 1,100,000; rows/s 120.5; "
        "lag 1,003 records; data age 400 ms; message all is well; "
        "generation 8 is warming: u2, asof join with a2, 4,000 rows, 42%"
    )


def test_what_is_not_told_is_left_out() -> None:
    """Before the first generation, without an orchestrator, and of a server that knows less."""
    assert list(Overview.of({}).lines()) == [("wiring", "not known yet"), ("state", "not ready")]
    assert dict(Overview.of({"ready": True, "orchestrator": None}).lines())["state"] == "ready"
    told = {key: value for key, value in STATUS.items() if key not in ("flow", "build")}
    seen = Overview.of(told, GENERATIONS)
    assert (seen.rows_per_s, seen.lag, seen.data_age_s) == (None, None, None)
    assert seen.progress is not None
    assert seen.progress.line() == "generation 8 is warming: u2, asof join with a2, 3,000 rows"
    assert Overview.of(told, GENERATIONS[1:]).progress is None


def test_how_far_another_generation_is_does_not_count() -> None:
    """The two are not asked for at the same moment."""
    seen = Overview.of({"build": {"generation": 7, "fraction": 0.9}}, GENERATIONS)
    assert seen.progress is not None
    assert (seen.progress.generation, seen.progress.fraction) == (8, None)


def test_rows_per_second_from_two_looks() -> None:
    """Of one publication, and only where the server does not tell them."""
    told = {key: value for key, value in STATUS.items() if key != "flow"}
    later = {**told, "orchestrator": {**told["orchestrator"], "rows": 1_100_050}}
    assert Overview.of(later).since(Overview.of(told), 2).rows_per_s == 25
    assert Overview.of(told).since(Overview.of(later), 2).rows_per_s == 0
    assert Overview.of({**later, "publication": 10}).since(Overview.of(told), 2).rows_per_s is None
    assert Overview.of(STATUS).since(Overview.of(told), 2).rows_per_s == 120.46


def test_durations() -> None:
    told = [duration(seconds) for seconds in (0.0004, 0.9994, 1.25, 119.9, 150, 7199, 7200, 90_000)]
    assert told == ["0 ms", "999 ms", "1.2 s", "119.9 s", "2 min", "120 min", "2.0 h", "25.0 h"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def mangled(good: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The same with some of it gone, and some of it something else."""
    parts = {
        key: st.just(value) | anything | (mangled(value) if isinstance(value, dict) else st.nothing())
        for key, value in good.items()
    }
    return st.fixed_dictionaries({}, optional=parts)


@given(mangled(STATUS), st.lists(st.sampled_from(GENERATIONS).flatmap(mangled), max_size=3))
def test_whatever_is_told(status: dict[str, Any], generations: list[dict[str, Any]]) -> None:
    """Something can be shown of it, on a terminal that it does nothing to."""
    seen = Overview.of(status, generations)
    assert all(text.isprintable() for _, text in seen.lines())
    assert seen.line().isprintable()
