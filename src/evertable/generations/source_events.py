"""What can happen to a source's topic under a running generation, told from one look to the next; without any I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

CONFIRMING_MISSES = 2
"""In a row, until they are believed: leaders move, and a broker that starts may not know its topics yet."""


@dataclass(frozen=True)
class ObservedTopic:
    """A topic as it was found; offsets by partition, the end behind the last record."""

    topic_id: str | None
    begins: Mapping[int, int]
    ends: Mapping[int, int]


@dataclass(frozen=True)
class SourceEvent:
    """Something happened to a source of a generation."""

    generation: int
    source: str
    topic: str


@dataclass(frozen=True)
class TopicGone(SourceEvent):
    def __str__(self) -> str:
        return f"The topic '{self.topic}' is gone."


@dataclass(frozen=True)
class TopicBack(SourceEvent):
    """After it was gone; the same one, as far as Kafka tells."""

    def __str__(self) -> str:
        return f"The topic '{self.topic}' is back."


@dataclass(frozen=True)
class TopicRecreated(SourceEvent):
    """Another topic has its name: the generation must be built anew."""

    old_id: str
    new_id: str

    def __str__(self) -> str:
        return f"The topic '{self.topic}' was deleted and made again: its id was {self.old_id} and is {self.new_id}."


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
            f"The topic '{self.topic}' begins at offset {self.earliest} of partition {self.partition}, and "
            f"{self.position} was to be read next."
        )


@dataclass(frozen=True)
class Rewound(SourceEvent):
    """Records were read that the topic no longer has: its broker lost them, or it is another topic."""

    partition: int
    position: int
    end: int

    def __str__(self) -> str:
        return (
            f"The topic '{self.topic}' ends at offset {self.end} of partition {self.partition}, and "
            f"{self.position} was to be read next."
        )


@dataclass(frozen=True)
class SourceStalled(SourceEvent):
    """It has records to read, and none is read; reported again at each look, for as long as it lasts."""

    behind: int
    seconds: float

    def __str__(self) -> str:
        return f"The topic '{self.topic}' has {self.behind:,} records to read; none was read for {self.seconds:.0f} s."


@dataclass(frozen=True)
class SourceRecovered(SourceEvent):
    """After it stood still."""

    def __str__(self) -> str:
        return f"The topic '{self.topic}' is read again."


@dataclass(frozen=True)
class KafkaLost:
    """A cluster does not answer, or refuses to."""

    servers: str
    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class KafkaRegained:
    """It answers again."""

    servers: str

    def __str__(self) -> str:
        return f"Kafka at {self.servers} answers again."


WatchEvent = SourceEvent | KafkaLost | KafkaRegained


class SourceHistory:
    """One source of one generation, from its build on; each thing that happens is told once."""

    def __init__(
        self, generation: int, source: str, topic: str, topic_id: str | None, starts: Mapping[int, int]
    ) -> None:
        self.generation = generation
        self.source = source
        self.topic = topic
        self._of = generation, source, topic
        self._id = topic_id
        self._starts = starts
        self._partitions = len(starts)
        self._missed = 0
        self._other = False  # another topic has the name; positions in it mean nothing
        self._told: set[tuple[type[SourceEvent], int]] = set()

    def missing(self) -> Iterator[SourceEvent]:
        """The topic was not found."""
        self._missed += 1
        if self._missed == CONFIRMING_MISSES:
            yield TopicGone(*self._of)

    def found(self, now: ObservedTopic, positions: Mapping[int, int]) -> Iterator[SourceEvent]:
        """The topic was found so; ``positions`` (what is read next) must have been taken before it was looked at."""
        was_gone, self._missed = self._missed >= CONFIRMING_MISSES, 0
        if self._id and now.topic_id and self._id != now.topic_id:
            old_id, self._id, self._other = self._id, now.topic_id, True
            yield TopicRecreated(*self._of, old_id, now.topic_id)
        elif was_gone:
            yield TopicBack(*self._of)
        if self._other:
            return
        if len(now.ends) > self._partitions:
            yield PartitionsGrew(*self._of, self._partitions, len(now.ends))
            self._partitions = len(now.ends)
        for partition, position in self._reached(positions).items():
            begin, end = now.begins.get(partition, 0), now.ends.get(partition, position)
            yield from self._once(begin > position, Truncated(*self._of, partition, position, begin))
            yield from self._once(end < position, Rewound(*self._of, partition, position, end))

    def lag(self, now: ObservedTopic, positions: Mapping[int, int]) -> dict[int, int]:
        """For each partition, the offsets from what is read next to the end; nothing if it is another topic now."""
        if self._other:
            return {}
        reached = {**now.begins, **self._reached(positions)}
        return {partition: max(0, end - reached.get(partition, 0)) for partition, end in now.ends.items()}

    def _reached(self, positions: Mapping[int, int]) -> dict[int, int]:
        """What is read next, also of partitions of which nothing was read yet."""
        return {**self._starts, **positions}

    def _once(self, is_so: bool, loss: Truncated | Rewound) -> Iterator[SourceEvent]:
        what = type(loss), loss.partition
        if is_so and what not in self._told:
            yield loss
        (self._told.add if is_so else self._told.discard)(what)
