"""Reads the newest records of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException

from evertable.kafka.consumer import GrouplessConsumer, Probe

_SETTINGS = {"isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "earliest"}


def newest_values(
    properties: Mapping[str, Any], topic: str, count: int, *, timeout_s: float = 10.0
) -> list[bytes | None]:
    """Returns the values of about ``count`` records from all partitions; TopicNotFoundError, KafkaUnreachableError."""
    consumer = GrouplessConsumer(properties, _SETTINGS)
    try:
        return _Newest(consumer, topic, timeout_s).values(count)
    except KafkaException as problem:
        raise consumer.error(problem.args[0], topic) from problem
    finally:
        consumer.close()


class _Newest(Probe):
    def values(self, count: int) -> list[bytes | None]:
        bounds = self._bounds(self._consumer.partitions(self._topic, self._left()))
        per_partition = max(1, count // max(1, len(bounds)))
        starts = {partition: max(low, high - per_partition) for partition, (low, high) in bounds.items()}
        ends = {partition: high for partition, (_, high) in bounds.items()}
        values = (message.value() for message in self._between(starts, ends))
        return [value if isinstance(value, bytes) else None for value in values]
