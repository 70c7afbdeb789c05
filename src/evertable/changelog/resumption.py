"""Checks whether a changelog is complete enough to resume its generation; without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evertable.changelog.schema import Side
from evertable.errors import ChangelogError

_NEXT = "The generation is rebuilt; check the disks of the Kafka that keeps it."


@dataclass(frozen=True)
class ChangelogEnd:
    """The id of a changelog topic at some moment, and the offset after its last record, by partition."""

    topic_id: str | None
    ends: Mapping[int, int]


def shortfall(remembered: ChangelogEnd, now: ChangelogEnd) -> str | None:
    """Returns why a changelog is not the remembered one, or is shorter; None if it is the same and complete."""
    if remembered.topic_id and now.topic_id and remembered.topic_id != now.topic_id:
        return f"Its changelog is another topic: its id was {remembered.topic_id} and is {now.topic_id}."
    for partition, end in sorted(remembered.ends.items()):
        if (found := now.ends.get(partition, 0)) < end:
            return f"Its changelog ended at offset {end} of partition {partition} and now ends at {found}."
    return None


@dataclass(frozen=True)
class ResumeCheck:
    """Where a changelog ended when the server started, and the last source record its query committed, by partition."""

    end: ChangelogEnd
    committed: Mapping[tuple[Side, int], int]

    def is_read(self, positions: Mapping[int, int], shown: Mapping[tuple[Side, int], int]) -> bool:
        """Whether the changelog has been read to where it ended at the start.

        ``shown`` has, by source partition, the offset after the last record that was read. Raises ChangelogError if a
        committed record is missing, because the query will not write it again.
        """
        if any(positions.get(partition, 0) < end for partition, end in self.end.ends.items()):
            return False
        for (side, partition), last in sorted(self.committed.items()):
            if (end := shown.get((side, partition), 0)) <= last:
                raise ChangelogError(
                    f"The changelog is incomplete: the query has committed offset {last} of partition {partition} of "
                    f"the {side.name.lower()} topic, but the changelog has it up to offset {end - 1} only.",
                    _NEXT,
                )
        return True
