"""Reads the newest records of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evertable.kafka.consumer import Probe


def newest_values(
    properties: Mapping[str, Any], topic: str, count: int, *, timeout_s: float = 10.0
) -> list[bytes | None]:
    """Returns the values of about ``count`` records from all partitions; TopicNotFoundError, KafkaUnreachableError."""
    with Probe.open(properties, topic, timeout_s, {"auto.offset.reset": "earliest"}) as probe:
        bounds = probe.bounds(probe.partitions())
        per_partition = max(1, count // max(1, len(bounds)))
        starts = {partition: max(low, high - per_partition) for partition, (low, high) in bounds.items()}
        ends = {partition: high for partition, (_, high) in bounds.items()}
        values = (message.value() for message in probe.between(starts, ends))
        return [value if isinstance(value, bytes) else None for value in values]
