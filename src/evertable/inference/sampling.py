"""The newest records of a topic, to be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException

from evertable.kafka.consumer import GrouplessConsumer, Probe

_LATEST = {"isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "earliest"}


def newest(properties: Mapping[str, Any], topic: str, most: int, *, timeout_s: float = 10.0) -> list[bytes | None]:
    """The values of about ``most`` records, from all partitions; TopicNotFoundError, KafkaUnreachableError."""
    consumer = GrouplessConsumer(properties, _LATEST)
    try:
        return _Newest(consumer, topic, timeout_s).values(most)
    except KafkaException as problem:
        raise consumer.error(problem.args[0], topic) from problem
    finally:
        consumer.close()


class _Newest(Probe):
    def values(self, most: int) -> list[bytes | None]:
        bounds = self._bounds(self._consumer.partitions(self._topic, self._left()))
        each = max(1, most // max(1, len(bounds)))
        begins = {partition: max(low, high - each) for partition, (low, high) in bounds.items()}
        ends = {partition: high for partition, (_, high) in bounds.items()}
        values = (message.value() for message in self._between(begins, ends))
        return [value if isinstance(value, bytes) else None for value in values]
