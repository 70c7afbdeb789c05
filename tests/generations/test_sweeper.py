"""What ended generations leave behind is deleted as soon as possible, however long Kafka is unreachable."""

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
        self.is_unreachable = False
        self.deleted: list[int] = []
        self.logged: list[str] = []
        self.sweeper = Sweeper(self._wait_released, self._delete, lambda level, message: self.logged.append(message))
        self.sweeper.start()

    def _wait_released(self, _generation: int) -> bool:
        return self.closed.wait(30)

    def _delete(self, generation: int) -> None:
        if self.is_unreachable:
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


def test_deleting_is_retried_until_kafka_is_back_and_logged_once(sweeping: Sweeping) -> None:
    sweeping.is_unreachable = True
    sweeping.closed.set()
    sweeping.sweeper.take(7)
    wait_until(lambda: sweeping.logged)
    sweeping.is_unreachable = False
    wait_until(lambda: sweeping.deleted == [7])
    wait_until(lambda: len(sweeping.logged) > 1)
    assert [line.split(": ")[0] for line in sweeping.logged] == [
        "Cannot delete the rest of generation 7 yet",
        "Deleted the rest of generation 7",
    ]


def test_closing_deletes_what_is_left_but_does_not_wait_for_kafka(sweeping: Sweeping) -> None:
    sweeping.closed.set()
    sweeping.sweeper.take(1)
    sweeping.sweeper.close()
    assert sweeping.deleted == [1]


def test_closing_returns_while_kafka_is_unreachable(sweeping: Sweeping) -> None:
    sweeping.is_unreachable = True
    sweeping.closed.set()
    sweeping.sweeper.take(1)
    sweeping.sweeper.close(30)
    assert not sweeping.sweeper._thread.is_alive()
    assert sweeping.deleted == []


def test_what_another_owner_has_is_not_deleted(sweeping: Sweeping) -> None:
    sweeping.sweeper.take(1)
    sweeping.sweeper.drop()
    sweeping.closed.set()
    sweeping.sweeper.close()
    assert sweeping.deleted == []
