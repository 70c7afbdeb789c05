"""Events of a source's topic under a running generation, derived from one poll to the next; without any I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

CONFIRMING_MISSES = 2
"""So many polls must fail in a row: leaders move, and a starting broker may not know its topics yet."""


@dataclass(frozen=True)
class ObservedTopic:
    """A topic as a poll found it. Offsets are by partition; the end is behind the last record."""

    topic_id: str | None
    begins: Mapping[int, int]
    ends: Mapping[int, int]


class EventKind(Enum):
    GONE = auto()
    BACK = auto()
    """The topic exists again, with the same id as far as is known."""
    RECREATED = auto()
    """Another topic has its name."""
    PARTITIONS_GREW = auto()
    TRUNCATED = auto()
    """Records were deleted before they were read."""
    REWOUND = auto()
    """Records were read that the topic no longer has: the broker lost them, or it is another topic."""
    STALLED = auto()
    """It has records to read, and none is read. Reported again at each poll while it lasts."""
    RECOVERED = auto()
    """A stalled source is read again."""


@dataclass(frozen=True)
class SourceEvent:
    """An event of one source of a generation."""

    generation: int
    source: str
    kind: EventKind
    message: str
    is_fatal: bool = False
    """Whether the generation cannot read on, and must be rebuilt."""
    stalled_s: float = 0.0


@dataclass(frozen=True)
class ClusterEvent:
    """A cluster does not answer, or denies access; or it answers again."""

    message: str
    is_lost: bool


WatchEvent = SourceEvent | ClusterEvent


class SourceHistory:
    """Compares the polls of one source of one generation; yields each event once."""

    def __init__(
        self, generation: int, source: str, topic: str, topic_id: str | None, starts: Mapping[int, int]
    ) -> None:
        self.source = source
        self.topic = topic
        self._generation = generation
        self._id = topic_id
        self._starts = starts
        self._partitions = len(starts)
        self._missed = 0
        self._is_another = False  # whether another topic has the name; positions do not apply to it
        self._reported: set[tuple[EventKind, int]] = set()

    def event(self, kind: EventKind, what: str, *, is_fatal: bool = False, stalled_s: float = 0.0) -> SourceEvent:
        """Returns an event of this source; ``what`` continues the sentence that begins with the topic's name."""
        message = f"The topic '{self.topic}' {what}."
        return SourceEvent(self._generation, self.source, kind, message, is_fatal, stalled_s)

    def missing(self) -> Iterator[SourceEvent]:
        """Yields the events of a poll that did not find the topic."""
        self._missed += 1
        if self._missed == CONFIRMING_MISSES:
            yield self.event(EventKind.GONE, "is gone")

    def found(self, now: ObservedTopic, positions: Mapping[int, int]) -> Iterator[SourceEvent]:
        """Yields the events of a poll; ``positions`` (the next offsets to read) must have been taken before it."""
        was_gone, self._missed = self._missed >= CONFIRMING_MISSES, 0
        if self._id and now.topic_id and self._id != now.topic_id:
            what = f"was deleted and recreated: its id was {self._id} and is {now.topic_id}"
            self._id, self._is_another = now.topic_id, True
            yield self.event(EventKind.RECREATED, what, is_fatal=True)
        elif was_gone:
            yield self.event(EventKind.BACK, "is back")
        if self._is_another:
            return
        if len(now.ends) > self._partitions:
            what = f"had {self._partitions} partitions and has {len(now.ends)}"
            self._partitions = len(now.ends)
            yield self.event(EventKind.PARTITIONS_GREW, what)
        for partition, position in {**self._starts, **positions}.items():
            begin, end = now.begins.get(partition, 0), now.ends.get(partition, position)
            of = f"of partition {partition}, but the next offset to read was {position}"
            if self._is_new(EventKind.TRUNCATED, partition, is_so=begin > position):
                # If nothing was read yet, Spark takes it for an empty partition and waits forever.
                yield self.event(EventKind.TRUNCATED, f"begins at offset {begin} {of}", is_fatal=position == 0)
            if self._is_new(EventKind.REWOUND, partition, is_so=end < position):
                yield self.event(EventKind.REWOUND, f"ends at offset {end} {of}", is_fatal=True)

    def lag(self, now: ObservedTopic, positions: Mapping[int, int]) -> dict[int, int]:
        """Returns, for each partition, how many offsets are unread; nothing if it is another topic now."""
        if self._is_another:
            return {}
        next_offsets = {**now.begins, **self._starts, **positions}
        return {partition: max(0, end - next_offsets.get(partition, 0)) for partition, end in now.ends.items()}

    def _is_new(self, kind: EventKind, partition: int, *, is_so: bool) -> bool:
        was_so = (kind, partition) in self._reported
        (self._reported.add if is_so else self._reported.discard)((kind, partition))
        return is_so and not was_so
