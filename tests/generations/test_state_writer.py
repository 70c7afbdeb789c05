"""The state writer writes in order, retries for as long as Kafka is unreachable, and stops when it is fenced."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.waiting import wait_until

from evertable.errors import FencedError, KafkaUnreachableError
from evertable.generations.state_writer import RETRY_S, StateWriter
from evertable.kafka.outages import EVERY_S
from evertable.shutdown import Shutdown
from evertable.state.records import Numbers, Record
from evertable.state.state_topic import HEARTBEAT_S, StateTopic

ONE, TWO, THREE = (Numbers(number, number) for number in (1, 2, 3))
UNREACHABLE = KafkaUnreachableError("Kafka does not answer.")
HEARTBEAT = "heartbeat"


class Clock:
    """Time that moves when a test says so, and while the writer pauses."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class FakeStore(StateTopic):
    """Keeps what is written; ``failures`` are raised first, one for each attempt."""

    def __init__(self) -> None:
        self.written: list[tuple[Record, ...] | str] = []
        self.failures: Iterator[Exception] = iter(())

    def write(self, *records: Record) -> None:
        self._attempt()
        self.written.append(records)

    def heartbeat(self) -> None:
        self._attempt()
        self.written.append(HEARTBEAT)

    def _attempt(self) -> None:
        for failure in self.failures:
            raise failure


class Writing:
    """A state writer over a fake store, with a clock that the test owns."""

    def __init__(self) -> None:
        self.store, self.clock = FakeStore(), Clock()
        self.fenced: list[FencedError] = []
        self.writer = StateWriter(
            self.store, self.fenced.append, Shutdown(), clock=self.clock, pause=self.clock.advance
        )

    def steps(self, count: int) -> list[tuple[Record, ...] | str]:
        """What the next steps write."""
        self.store.written.clear()
        for _ in range(count):
            self.writer.step()
        return list(self.store.written)


@pytest.fixture
def writing() -> Writing:
    return Writing()


def test_records_are_written_together_and_in_order(writing: Writing) -> None:
    writing.writer.write(ONE, TWO)
    writing.writer.write(THREE)
    assert writing.steps(2) == [(ONE, TWO), (THREE,)]


def test_a_heartbeat_is_written_when_it_is_due_and_nothing_is_queued(writing: Writing) -> None:
    assert writing.steps(1) == [HEARTBEAT]
    writing.writer.write(ONE)
    assert writing.steps(1) == [(ONE,)]
    writing.clock.advance(HEARTBEAT_S)
    assert writing.steps(1) == [HEARTBEAT]


def test_a_write_is_retried_until_kafka_takes_it(writing: Writing) -> None:
    """What was queued meanwhile comes after it."""
    writing.store.failures = iter([UNREACHABLE] * 3)
    writing.writer.write(ONE)
    writing.writer.write(TWO)
    assert writing.steps(2) == [(ONE,), (TWO,)]
    assert writing.clock.now == 3 * RETRY_S


def test_an_outage_is_logged_once_a_minute_and_at_its_end(writing: Writing) -> None:
    writing.store.failures = iter([UNREACHABLE] * int(1.5 * EVERY_S / RETRY_S))
    with capture_logs() as logs:
        writing.steps(1)
    assert [entry["event"] for entry in logs] == [
        "Could not write to the state topic; retrying",
        "Could not write to the state topic; retrying",
        "The state topic can be written to again",
    ]


def test_flush_returns_whether_all_is_written_in_time(writing: Writing) -> None:
    writing.writer.write(ONE)
    assert not writing.writer.flush(0)
    writing.writer.start()
    assert writing.writer.flush(30)
    assert (ONE,) in writing.store.written
    writing.writer.close()


def test_a_fenced_writer_reports_it_and_writes_nothing_more(writing: Writing) -> None:
    error = FencedError("Another one took over.")
    writing.store.failures = iter([error])
    writing.writer.write(ONE)
    writing.writer.write(TWO)
    writing.writer.start()
    wait_until(lambda: writing.fenced == [error])
    writing.writer.close()
    assert writing.store.written == []


def test_closing_writes_what_is_left(writing: Writing) -> None:
    writing.writer.start()
    writing.writer.write(ONE)
    writing.writer.close()
    assert (ONE,) in writing.store.written


def test_closing_does_not_wait_for_a_kafka_that_is_unreachable(writing: Writing) -> None:
    def endless() -> Iterator[Exception]:
        while True:
            yield UNREACHABLE

    writing.store.failures = endless()
    writing.writer.start()
    writing.writer.write(ONE)
    wait_until(lambda: writing.clock.now > 0)
    writing.writer.close()
    assert writing.store.written == []
