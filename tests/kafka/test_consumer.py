"""A partition's bounds, also while it has no leader."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from evertable.errors import KafkaUnreachableError
from evertable.kafka.consumer import GrouplessConsumer
from evertable.kafka.properties import KafkaProperties

NO_LEADER = KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))


class Kafka:
    """Stands in for librdkafka's consumer, as a real broker gives these answers only by chance."""

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


def test_bounds_are_retried_while_there_is_no_leader(consumer: GrouplessConsumer) -> None:
    consumer.kafka = Kafka(NO_LEADER, NO_LEADER, (3, 7))  # type: ignore[assignment]
    assert consumer.bounds("users", 0, 60) == (3, 7)


def test_a_lasting_lack_of_a_leader_is_an_error(consumer: GrouplessConsumer) -> None:
    consumer.kafka = Kafka(NO_LEADER)  # type: ignore[assignment]
    with pytest.raises(KafkaUnreachableError):
        consumer.bounds("users", 0, 0.1)


def test_other_errors_are_raised_at_once(consumer: GrouplessConsumer) -> None:
    consumer.kafka = Kafka(KafkaException(KafkaError(KafkaError._TIMED_OUT)), (3, 7))  # type: ignore[assignment]
    with pytest.raises(KafkaUnreachableError):
        consumer.bounds("users", 0, 60)


def test_limits_of_producers_do_not_matter() -> None:
    """librdkafka would refuse to read with a limit of the requests above that of the fetches."""
    limits = {"max.request.size": "5000000", "fetch.max.bytes": "1500000"}
    properties = KafkaProperties.of({"bootstrap.servers": "127.0.0.1:1"} | limits).for_librdkafka()
    GrouplessConsumer(properties, {}).close()
