"""Finds a topic's backlog when a build begins: where the query starts, and how far its tables must come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TopicPartition

from evertable.config.start import Start
from evertable.kafka.consumer import GRACE_S, Probe, place

_PROBING = {
    "fetch.wait.max.ms": 10,  # how long a broker waits before it answers that there is no more
    "fetch.queue.backoff.ms": 5,
    "queued.min.messages": 1_000,
}


@dataclass(frozen=True)
class PartitionBacklog:
    """The offset at which the query starts to read a partition, and the one after its last readable record."""

    start: int
    end: int

    def from_offset(self, start: int) -> PartitionBacklog:
        """Returns the backlog of a query that starts there instead."""
        return PartitionBacklog(start, max(start, self.end))


def find_backlog(
    properties: Mapping[str, Any], topic: str, start: Start, *, timeout_s: float = 30.0
) -> dict[int, PartitionBacklog]:
    """Returns the backlog of each partition, as a plain ``read_committed`` consumer sees it.

    Records of open transactions are not part of it. Raises TopicNotFoundError or KafkaUnreachableError.
    """
    with _BacklogProbe.open(properties, topic, timeout_s, _PROBING) as probe:
        return probe.backlog(start)


def partitions_with_records(
    properties: Mapping[str, Any],
    topic: str,
    begins: Mapping[int, int],
    ends: Mapping[int, int],
    *,
    timeout_s: float = 30.0,
) -> set[int]:
    """Returns the partitions that have a readable record in [begins, ends)."""
    with _BacklogProbe.open(properties, topic, timeout_s, _PROBING) as probe:
        return probe.with_records(begins, ends)


class _BacklogProbe(Probe):
    """Finds the bounds of a topic's partitions, and readable records between offsets."""

    def backlog(self, start: Start) -> dict[int, PartitionBacklog]:
        bounds = self.bounds(self.partitions(GRACE_S))
        ends = {partition: end for partition, (_, end) in bounds.items()}
        match start:
            case Start.EARLIEST:
                starts = {partition: low for partition, (low, _) in bounds.items()}
            case Start.LATEST:
                starts = ends
            case _:
                starts = self._starts_at(start.timestamp_ms or 0, ends)
        return {partition: PartitionBacklog(at, max(at, ends[partition])) for partition, at in starts.items()}

    def with_records(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> set[int]:
        """Returns the partitions that have a record in [begins, ends)."""
        found: set[int] = set()
        pending = set(begins)
        self._kafka.assign([TopicPartition(self._topic, *begin) for begin in begins.items()])
        while pending:
            message = self._kafka.poll(self._left())
            if message is None:
                self._left()
                continue
            partition, offset = place(message)
            if partition not in pending or self._passes(message):
                continue
            if message.error() is None and offset < ends[partition]:
                found.add(partition)
            pending.discard(partition)
            self._kafka.incremental_unassign([TopicPartition(self._topic, partition)])
        return found

    def _starts_at(self, timestamp: int, ends: Mapping[int, int]) -> dict[int, int]:
        asked = [TopicPartition(self._topic, partition, timestamp) for partition in ends]
        found = self._kafka.offsets_for_times(asked, timeout=self._left())
        return {at.partition: at.offset if at.offset >= 0 else ends[at.partition] for at in found}
