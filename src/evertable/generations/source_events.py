"""Events of a source's topic under a running generation, derived from one poll to the next; without any I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

CONFIRMING_MISSES = 2
"""So many polls must fail in a row: leaders move, and a starting broker may not know its topics yet."""


@dataclass(frozen=True)
class ObservedTopic:
    """A topic as a poll found it. Offsets are by partition; the end is behind the last record."""

    topic_id: str | None
    begins: Mapping[int, int]
    ends: Mapping[int, int]


@dataclass(frozen=True)
class SourceEvent:
    """An event of one source of a generation."""

    generation: int
    source: str
    topic: str


@dataclass(frozen=True)
class TopicGone(SourceEvent):
    def __str__(self) -> str:
        return f"The topic '{self.topic}' is gone."


@dataclass(frozen=True)
class TopicBack(SourceEvent):
    """The topic exists again, with the same id as far as is known."""

    def __str__(self) -> str:
        return f"The topic '{self.topic}' is back."


@dataclass(frozen=True)
class TopicRecreated(SourceEvent):
    """Another topic has its name: the generation must be rebuilt."""

    old_id: str
    new_id: str

    def __str__(self) -> str:
        return f"The topic '{self.topic}' was deleted and recreated: its id was {self.old_id} and is {self.new_id}."


@dataclass(frozen=True)
class PartitionsGrew(SourceEvent):
    old: int
    new: int

    def __str__(self) -> str:
        return f"The topic '{self.topic}' had {self.old} partitions and has {self.new}."


@dataclass(frozen=True)
class Truncated(SourceEvent):
    """Records were deleted before they were read."""

    partition: int
    position: int
    earliest: int

    def __str__(self) -> str:
        return (
            f"The topic '{self.topic}' begins at offset {self.earliest} of partition {self.partition}, but the next "
            f"offset to read was {self.position}."
        )


@dataclass(frozen=True)
class Rewound(SourceEvent):
    """Records were read that the topic no longer has: the broker lost them, or it is another topic."""

    partition: int
    position: int
    end: int

    def __str__(self) -> str:
        return (
            f"The topic '{self.topic}' ends at offset {self.end} of partition {self.partition}, but the next "
            f"offset to read was {self.position}."
        )


@dataclass(frozen=True)
class SourceStalled(SourceEvent):
    """It has records to read, and none is read. Reported again at each poll while it lasts."""

    behind: int
    seconds: float

    def __str__(self) -> str:
        return f"The topic '{self.topic}' has {self.behind:,} records to read; none was read for {self.seconds:.0f} s."


@dataclass(frozen=True)
class SourceRecovered(SourceEvent):
    """A stalled source is read again."""

    def __str__(self) -> str:
        return f"The topic '{self.topic}' is read again."


@dataclass(frozen=True)
class KafkaLost:
    """A cluster does not answer, or denies access."""

    servers: str
    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class KafkaRegained:
    """A cluster answers again."""

    servers: str

    def __str__(self) -> str:
        return f"Kafka at {self.servers} answers again."


WatchEvent = SourceEvent | KafkaLost | KafkaRegained


class SourceHistory:
    """Compares the polls of one source of one generation; yields each event once."""

    def __init__(
        self, generation: int, source: str, topic: str, topic_id: str | None, starts: Mapping[int, int]
    ) -> None:
        self.generation = generation
        self.source = source
        self.topic = topic
        self._subject = generation, source, topic
        self._id = topic_id
        self._starts = starts
        self._partitions = len(starts)
        self._missed = 0
        self._is_another = False  # whether another topic has the name; positions do not apply to it
        self._reported: set[tuple[type[SourceEvent], int]] = set()

    def missing(self) -> Iterator[SourceEvent]:
        """Yields the events of a poll that did not find the topic."""
        self._missed += 1
        if self._missed == CONFIRMING_MISSES:
            yield TopicGone(*self._subject)

    def found(self, now: ObservedTopic, positions: Mapping[int, int]) -> Iterator[SourceEvent]:
        """Yields the events of a poll; ``positions`` (the next offsets to read) must have been taken before it."""
        was_gone, self._missed = self._missed >= CONFIRMING_MISSES, 0
        if self._id and now.topic_id and self._id != now.topic_id:
            old_id, self._id, self._is_another = self._id, now.topic_id, True
            yield TopicRecreated(*self._subject, old_id, now.topic_id)
        elif was_gone:
            yield TopicBack(*self._subject)
        if self._is_another:
            return
        if len(now.ends) > self._partitions:
            yield PartitionsGrew(*self._subject, self._partitions, len(now.ends))
            self._partitions = len(now.ends)
        for partition, position in self._next_offsets(positions).items():
            begin, end = now.begins.get(partition, 0), now.ends.get(partition, position)
            yield from self._once(begin > position, Truncated(*self._subject, partition, position, begin))
            yield from self._once(end < position, Rewound(*self._subject, partition, position, end))

    def lag(self, now: ObservedTopic, positions: Mapping[int, int]) -> dict[int, int]:
        """Returns, for each partition, how many offsets are unread; nothing if it is another topic now."""
        if self._is_another:
            return {}
        next_offsets = {**now.begins, **self._next_offsets(positions)}
        return {partition: max(0, end - next_offsets.get(partition, 0)) for partition, end in now.ends.items()}

    def _next_offsets(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Returns the next offsets to read, also of partitions of which nothing was read yet."""
        return {**self._starts, **positions}

    def _once(self, is_lost: bool, loss: Truncated | Rewound) -> Iterator[SourceEvent]:
        key = type(loss), loss.partition
        if is_lost and key not in self._reported:
            yield loss
        (self._reported.add if is_lost else self._reported.discard)(key)
