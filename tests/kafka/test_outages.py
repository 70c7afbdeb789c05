"""An outage is logged once, once a minute while it lasts, and once when it is over."""

from __future__ import annotations

import logging

import pytest

from evertable.kafka.outages import OutageLog, WarningThrottle


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_warning_is_due_at_the_beginning_and_every_minute(clock: Clock) -> None:
    throttle = WarningThrottle(clock)
    due = []
    for _ in range(130):
        due.append(throttle.due())
        clock.now += 1
    assert [second for second, each in enumerate(due) if each] == [0, 60, 120]


def test_a_warning_about_another_problem_is_due_at_once(clock: Clock) -> None:
    """The first problem, if it comes back, is due after its minute."""
    throttle = WarningThrottle(clock)
    assert [throttle.due(what) for what in ("no password", "no right", "no password", "no right")] == [
        True,
        True,
        False,
        False,
    ]
    clock.now += 60
    assert throttle.due("no password")


def test_the_end_is_reported_only_if_the_beginning_was(clock: Clock) -> None:
    """The next problem is due at once."""
    throttle = WarningThrottle(clock)
    assert not throttle.over()
    assert throttle.due()
    assert throttle.over()
    assert not throttle.over()
    assert throttle.due()


def test_many_clients_notice_one_outage(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Each cluster has its own."""
    caplog.set_level(logging.INFO)
    outages = OutageLog(clock)
    for second in range(70):
        clock.now = 1_000.0 + second
        outages.noticed("one:9092", f"refused {second}")
    outages.noticed("two:9092", "timed out")
    for _ in range(3):
        outages.over("one:9092")
    assert [record.getMessage() for record in caplog.records] == [
        "Kafka at one:9092: refused 0; trying again until it answers",
        "Kafka at one:9092: refused 60; trying again until it answers",
        "Kafka at two:9092: timed out; trying again until it answers",
        "Kafka at one:9092 answers again",
    ]
