"""The throttle of a backlog that is read while another generation is live."""

from __future__ import annotations

from typing import Any

MS = 1_000_000


def test_there_is_no_pause_while_processors_are_free(jvm: Any) -> None:
    throttle = jvm.dev.evertable.Throttle()
    for load in (0.0, 0.3, 0.7):
        throttle.adapt(load)
    assert throttle.pauseMs(1_000 * MS) == 0


def test_pauses_grow_with_load_and_shrink_without(jvm: Any) -> None:
    throttle = jvm.dev.evertable.Throttle()
    pauses = []
    for load in (1.0, 1.0, 1.0, 0.5, 0.5, 0.5):
        throttle.adapt(load)
        pauses.append(throttle.pauseMs(10 * MS))
    assert 0 < pauses[0] < pauses[1] < pauses[2] > pauses[3] > pauses[4] > pauses[5] == 0


def test_pauses_are_bounded_however_long_the_machine_is_busy(jvm: Any) -> None:
    """By a multiple of the work, and so that the end of an epoch is not delayed for long."""
    throttle = jvm.dev.evertable.Throttle()
    for _ in range(1_000):
        throttle.adapt(1.0)
    assert throttle.pauseMs(10 * MS) == 100
    assert throttle.pauseMs(60_000 * MS) == 200


def test_an_unknown_load_changes_nothing(jvm: Any) -> None:
    throttle = jvm.dev.evertable.Throttle()
    throttle.adapt(1.0)
    before = throttle.pauseMs(100 * MS)
    for load in (-1.0, float("nan")):
        throttle.adapt(load)
    assert throttle.pauseMs(100 * MS) == before > 0
