"""What a changelog must show before its generation is resumed from it; without any I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evertable.changelog.schema import Side
from evertable.errors import ChangelogError

_NEXT = "Its generation is built anew; check the disks of the Kafka that keeps it."


@dataclass(frozen=True)
class ChangelogEnd:
    """Which topic a changelog was at some moment, and the offset behind its last record, by partition."""

    topic_id: str | None
    ends: Mapping[int, int]


def shortfall(remembered: ChangelogEnd, now: ChangelogEnd) -> str | None:
    """Why a changelog is not the one that is remembered, or not all of it; None if it is."""
    if remembered.topic_id and now.topic_id and remembered.topic_id != now.topic_id:
        return f"Its changelog is another topic: its id was {remembered.topic_id} and is {now.topic_id}."
    for partition, end in sorted(remembered.ends.items()):
        if (found := now.ends.get(partition, 0)) < end:
            return f"Its changelog ended at offset {end} of partition {partition} and now ends at {found}."
    return None


@dataclass(frozen=True)
class ResumeCheck:
    """Where a changelog ended at the start, and the last source record that its query has committed, by partition."""

    end: ChangelogEnd
    committed: Mapping[tuple[Side, int], int]

    def is_read(self, positions: Mapping[int, int], shown: Mapping[tuple[Side, int], int]) -> bool:
        """Whether the changelog has been read to where it ended at the start.

        ``shown`` has, by source partition, the offset behind the last record that was read in it. ChangelogError if a
        committed record was not: the query will not write it again.
        """
        if any(positions.get(partition, 0) < end for partition, end in self.end.ends.items()):
            return False
        for (side, partition), last in sorted(self.committed.items()):
            if (behind := shown.get((side, partition), 0)) <= last:
                raise ChangelogError(
                    f"The changelog lacks its end: the query has committed offset {last} of partition {partition} of "
                    f"the {side.name.lower()} topic, and the changelog shows it to offset {behind - 1} only.",
                    _NEXT,
                )
        return True
