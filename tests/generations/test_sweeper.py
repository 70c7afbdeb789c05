"""What ended generations leave behind goes when it may, however long Kafka is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.waiting import wait_until

from evertable.errors import KafkaUnreachableError
from evertable.generations import sweeper as module
from evertable.generations.sweeper import Sweeper


class Sweeping:
    """A sweeper, with producers that the test closes and a Kafka that may be unreachable."""

    def __init__(self) -> None:
        self.closed = threading.Event()
        self.away = False
        self.deleted: list[int] = []
        self.said: list[str] = []
        self.sweeper = Sweeper(self._wait_released, self._delete, lambda level, message: self.said.append(message))
        self.sweeper.start()

    def _wait_released(self, _generation: int) -> bool:
        return self.closed.wait(30)

    def _delete(self, generation: int) -> None:
        if self.away:
            raise KafkaUnreachableError("Kafka does not answer.")
        self.deleted.append(generation)


@pytest.fixture
def sweeping(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sweeping]:
    monkeypatch.setattr(module, "RETRY_S", 0.01)
    made = Sweeping()
    yield made
    made.closed.set()
    made.sweeper.close()


def test_nothing_is_deleted_before_its_producer_is_closed(sweeping: Sweeping) -> None:
    sweeping.sweeper.take(1)
    sweeping.sweeper.take(2)
    assert sweeping.deleted == []
    sweeping.closed.set()
    wait_until(lambda: sweeping.deleted == [1, 2])


def test_it_is_tried_until_kafka_is_back_and_told_once(sweeping: Sweeping) -> None:
    sweeping.away = True
    sweeping.closed.set()
    sweeping.sweeper.take(7)
    wait_until(lambda: sweeping.said)
    sweeping.away = False
    wait_until(lambda: sweeping.deleted == [7])
    wait_until(lambda: len(sweeping.said) > 1)
    assert [line.split(": ")[0] for line in sweeping.said] == [
        "What is left of generation 7 is not deleted yet",
        "What was left of generation 7 is deleted",
    ]
    assert sweeping.said[0].startswith("What is left of generation 7 is not deleted yet: ")


def test_closing_deletes_what_is_left_but_does_not_wait_for_kafka(sweeping: Sweeping) -> None:
    sweeping.closed.set()
    sweeping.sweeper.take(1)
    sweeping.sweeper.close()
    assert sweeping.deleted == [1]


def test_closing_ends_also_while_kafka_is_away(sweeping: Sweeping) -> None:
    sweeping.away = True
    sweeping.closed.set()
    sweeping.sweeper.take(1)
    sweeping.sweeper.close(30)
    assert not sweeping.sweeper._thread.is_alive()
    assert sweeping.deleted == []


def test_what_is_another_ones_is_not_deleted(sweeping: Sweeping) -> None:
    sweeping.sweeper.take(1)
    sweeping.sweeper.drop()
    sweeping.closed.set()
    sweeping.sweeper.close()
    assert sweeping.deleted == []
