"""A source is stalled if it has records to read and none is read; a quiet topic is not."""

from __future__ import annotations

from evertable.generations.stall import ResumeDeadline, StallDetector


def test_a_quiet_topic_is_not_stalled() -> None:
    stalls = StallDetector(10)
    for now in range(0, 1000, 100):
        stalls.observe(now, {0: 5}, ())
        assert stalls.seconds(now) == {}


def test_a_source_is_stalled_when_records_are_not_read_for_long() -> None:
    """The time counts from their arrival, not from the last read before it."""
    stalls = StallDetector(10)
    stalls.observe(0, {0: 5, 1: 7}, ())
    stalls.observe(100, {0: 5, 1: 7}, [0])
    stalls.observe(109, {0: 5, 1: 7}, [0])
    assert stalls.seconds(109) == {}
    assert stalls.seconds(112) == {0: 12}
    stalls.observe(113, {0: 6, 1: 7}, [0])
    assert stalls.seconds(113) == {}


def test_a_partition_that_is_read_does_not_hide_one_that_is_not() -> None:
    stalls = StallDetector(10)
    for now in range(0, 30, 5):
        stalls.observe(now, {0: now, 1: 7}, [0, 1])
    assert stalls.seconds(25) == {1: 25}


def test_after_an_outage_unread_records_count_from_its_beginning() -> None:
    """Kafka answers again, but the reader's connections may be dead."""
    stalls = StallDetector(10)
    stalls.observe(0, {0: 5}, ())
    stalls.suspect(20)
    stalls.suspect(40)
    stalls.observe(60, {0: 5}, [0])
    assert stalls.seconds(60) == {0: 40}
    stalls.suspect(70)
    stalls.observe(90, {0: 5}, ())
    assert stalls.seconds(90) == {}


def test_a_resume_may_take_any_time_while_it_makes_progress() -> None:
    deadline = ResumeDeadline(120)
    assert not any(deadline.is_over(now, now // 100, is_kafka_unreachable=False) for now in range(0, 10_000, 10))
    assert not deadline.is_over(20_000, "unreachable", is_kafka_unreachable=True)
    assert not deadline.is_over(20_119, "unreachable", is_kafka_unreachable=False)
    assert deadline.is_over(20_120, "unreachable", is_kafka_unreachable=False)
