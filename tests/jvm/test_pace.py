"""The throttle of a backlog that is read while another generation is live."""

from __future__ import annotations

from typing import Any

MS = 1_000_000


def test_there_is_no_rest_while_processors_are_free(jvm: Any) -> None:
    pace = jvm.dev.evertable.Pace()
    for load in (0.0, 0.3, 0.7):
        pace.adapt(load)
    assert pace.rest(1_000 * MS) == 0


def test_rests_grow_with_load_and_shrink_without(jvm: Any) -> None:
    pace = jvm.dev.evertable.Pace()
    rests = []
    for load in (1.0, 1.0, 1.0, 0.5, 0.5, 0.5):
        pace.adapt(load)
        rests.append(pace.rest(10 * MS))
    assert 0 < rests[0] < rests[1] < rests[2] > rests[3] > rests[4] > rests[5] == 0


def test_rests_are_bounded_however_long_the_machine_is_busy(jvm: Any) -> None:
    """By a multiple of the work, and so that the end of an epoch is not delayed for long."""
    pace = jvm.dev.evertable.Pace()
    for _ in range(1_000):
        pace.adapt(1.0)
    assert pace.rest(10 * MS) == 100
    assert pace.rest(60_000 * MS) == 200


def test_an_unknown_load_changes_nothing(jvm: Any) -> None:
    pace = jvm.dev.evertable.Pace()
    pace.adapt(1.0)
    before = pace.rest(100 * MS)
    for load in (-1.0, float("nan")):
        pace.adapt(load)
    assert pace.rest(100 * MS) == before > 0
