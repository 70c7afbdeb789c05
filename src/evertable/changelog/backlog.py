"""Finds a topic's backlog when a build begins: where the query starts, and which records must be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TopicPartition

from evertable.changelog.coverage import Span
from evertable.config.start import Start
from evertable.kafka.consumer import GRACE_S, Probe, place

_PROBING = {
    "fetch.wait.max.ms": 10,  # how long a broker waits before it answers that there is no more
    "fetch.queue.backoff.ms": 5,
    "queued.min.messages": 1_000,
}
_WINDOW = 64  # offsets before the end to search first; one fetch brings as many anyway
_GROWTH = 16


@dataclass(frozen=True)
class PartitionBacklog:
    """The offset at which the query starts to read a partition, and the readable records from there, if any."""

    start: int
    span: Span | None


def find_backlog(
    properties: Mapping[str, Any], topic: str, start: Start, *, timeout_s: float = 30.0
) -> dict[int, PartitionBacklog]:
    """Returns the backlog of each partition, as a plain ``read_committed`` consumer sees it.

    A partition may begin or end with a transaction marker, an aborted transaction or a gap, so the first and the last
    record are read, not computed. Raises TopicNotFoundError or KafkaUnreachableError.
    """
    with _BacklogProbe.open(properties, topic, timeout_s, _PROBING) as probe:
        return probe.backlog(start)


def find_last_records(
    properties: Mapping[str, Any],
    topic: str,
    begins: Mapping[int, int],
    ends: Mapping[int, int],
    *,
    timeout_s: float = 30.0,
) -> dict[int, int]:
    """Returns the offset of the last readable record in [begins, ends), by partition; not if it has none."""
    with _BacklogProbe.open(properties, topic, timeout_s, _PROBING) as probe:
        return probe.last_records(begins, ends)


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
    """Searches for the first and the last readable record of each partition of a topic."""

    def backlog(self, start: Start) -> dict[int, PartitionBacklog]:
        partitions = self.partitions(GRACE_S)
        bounds = self.bounds(partitions)
        ends = {partition: end for partition, (_, end) in bounds.items()}
        match start:
            case Start.EARLIEST:
                starts = {partition: low for partition, (low, _) in bounds.items()}
            case Start.LATEST:
                starts = ends
            case _:
                starts = self._starts_at(start.timestamp_ms or 0, ends)
        spans = self._spans(starts, ends) if start != Start.LATEST else {}
        return {partition: PartitionBacklog(starts[partition], spans.get(partition)) for partition in partitions}

    def with_records(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> set[int]:
        return set(self._scan(begins, ends, stop_at_first=True))

    def last_records(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> dict[int, int]:
        bounds = self.bounds(begins.keys() & ends.keys())
        first = {partition: max(low, begins[partition]) for partition, (low, _) in bounds.items()}
        after = {partition: min(high, ends[partition]) for partition, (_, high) in bounds.items()}
        return {partition: span.last for partition, span in self._spans(first, after).items()}

    def _starts_at(self, timestamp: int, ends: Mapping[int, int]) -> dict[int, int]:
        asked = [TopicPartition(self._topic, partition, timestamp) for partition in ends]
        found = self._kafka.offsets_for_times(asked, timeout=self._left())
        return {at.partition: at.offset if at.offset >= 0 else ends[at.partition] for at in found}

    def _spans(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> dict[int, Span]:
        begins = {partition: at for partition, at in starts.items() if at < ends[partition]}
        firsts = self._scan(begins, ends, stop_at_first=True)
        lasts: dict[int, int] = {}
        ends, window = dict(ends), _WINDOW
        while pending := firsts.keys() - lasts.keys():
            begins = {partition: max(firsts[partition], ends[partition] - window) for partition in pending}
            lasts |= self._scan(begins, ends, stop_at_first=False)
            ends |= begins  # what is left to find is before this window
            window *= _GROWTH
        return {partition: Span(firsts[partition], last) for partition, last in lasts.items()}

    def _scan(self, begins: Mapping[int, int], ends: Mapping[int, int], *, stop_at_first: bool) -> dict[int, int]:
        """Returns the first or the last record in [begins, ends), for each partition that has one."""
        found: dict[int, int] = {}
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
            is_record = message.error() is None and offset < ends[partition]
            if is_record:
                found[partition] = offset
            if stop_at_first or not is_record or offset == ends[partition] - 1:
                pending.discard(partition)
                self._kafka.incremental_unassign([TopicPartition(self._topic, partition)])
        return found
