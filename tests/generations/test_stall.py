"""A source that has records to read and reads none stands still; silence alone is no standstill."""

from __future__ import annotations

from evertable.generations.stall import ResumeDeadline, StallDetector


def test_a_quiet_topic_does_not_stand_still() -> None:
    still = StallDetector(10)
    for now in range(0, 1000, 100):
        still.observe(now, {0: 5}, ())
        assert still.seconds(now) == {}


def test_records_that_are_not_read_for_long_are_a_standstill() -> None:
    """Counted from when they came, not from when the last one before them was read."""
    still = StallDetector(10)
    still.observe(0, {0: 5, 1: 7}, ())
    still.observe(100, {0: 5, 1: 7}, [0])
    still.observe(109, {0: 5, 1: 7}, [0])
    assert still.seconds(109) == {}
    assert still.seconds(112) == {0: 12}
    still.observe(113, {0: 6, 1: 7}, [0])
    assert still.seconds(113) == {}


def test_a_partition_that_is_read_does_not_hide_one_that_is_not() -> None:
    still = StallDetector(10)
    for now in range(0, 30, 5):
        still.observe(now, {0: now, 1: 7}, [0, 1])
    assert still.seconds(25) == {1: 25}


def test_what_waits_after_an_outage_counts_from_its_beginning() -> None:
    """Kafka answers again, but the reader's connections may be dead."""
    still = StallDetector(10)
    still.observe(0, {0: 5}, ())
    still.suspect(20)
    still.suspect(40)
    still.observe(60, {0: 5}, [0])
    assert still.seconds(60) == {0: 40}
    still.suspect(70)
    still.observe(90, {0: 5}, ())
    assert still.seconds(90) == {}


def test_a_resume_may_take_as_long_as_it_makes_progress() -> None:
    deadline = ResumeDeadline(120)
    assert not any(deadline.is_over(now, now // 100, is_kafka_unreachable=False) for now in range(0, 10_000, 10))
    assert not deadline.is_over(20_000, "away", is_kafka_unreachable=True)
    assert not deadline.is_over(20_119, "away", is_kafka_unreachable=False)
    assert deadline.is_over(20_120, "away", is_kafka_unreachable=False)
