"""Where a partition begins and ends, also when nobody leads it for a moment."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from evertable.errors import KafkaUnreachableError
from evertable.kafka.consumer import GrouplessConsumer

NO_LEADER = KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))


class Kafka:
    """Stands in for librdkafka's consumer: which answer comes when cannot be had of a real broker."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def get_watermark_offsets(self, *_: object) -> Any:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def consumer() -> GrouplessConsumer:
    made = GrouplessConsumer({"bootstrap.servers": "127.0.0.1:1"}, {})
    made.close()
    return made


def test_a_partition_that_nobody_leads_yet_is_asked_again(consumer: GrouplessConsumer) -> None:
    consumer.kafka = Kafka(NO_LEADER, NO_LEADER, (3, 7))  # type: ignore[assignment]
    assert consumer.bounds("users", 0, 60) == (3, 7)


def test_one_that_nobody_leads_for_long_is_an_error(consumer: GrouplessConsumer) -> None:
    consumer.kafka = Kafka(NO_LEADER)  # type: ignore[assignment]
    with pytest.raises(KafkaUnreachableError):
        consumer.bounds("users", 0, 0.1)


def test_other_trouble_is_told_at_once(consumer: GrouplessConsumer) -> None:
    consumer.kafka = Kafka(KafkaException(KafkaError(KafkaError._TIMED_OUT)), (3, 7))  # type: ignore[assignment]
    with pytest.raises(KafkaUnreachableError):
        consumer.bounds("users", 0, 60)
