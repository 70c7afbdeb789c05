"""Decides where to begin reading the control topic at a start, from the positions in the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evertable.state.records import ControlOffset
from evertable.state.state import AppState

FORMER_DEFAULT = "evertable-control"
"""The default control topic of all apps, before each app had one of its own."""


@dataclass(frozen=True)
class ControlStart:
    """The start positions: partitions that are not in ``after`` are read from their beginning or end."""

    after: Mapping[int, int] = field(default_factory=dict)
    from_end: bool = False
    """Whether they are read from the end: the topic may be shared, and its messages meant for other apps."""
    is_recreated: bool = False
    """Whether the topic was deleted and recreated since it was last read."""
    former: Mapping[int, ControlOffset] | None = None
    """The positions of an earlier version in ``FORMER_DEFAULT``; None if there is nothing to move from there."""

    @property
    def is_another_topic(self) -> bool:
        """Whether the results in the state belong to messages of another topic."""
        return not self.after


def control_start(state: AppState, topic: str, topic_id: str | None, *, is_own: bool) -> ControlStart:
    """Compares the positions in the state with the control topic of today; ``is_own`` if no other app reads it."""
    records = state.control
    same = {partition: each.next for partition, each in records.items() if _is_of(each, topic, topic_id, is_own)}
    if same:
        return ControlStart(same)
    if any(each.topic == topic for each in records.values()):
        return ControlStart(is_recreated=True)
    if not is_own:
        return ControlStart(from_end=True)
    unnamed = {partition: each for partition, each in records.items() if not each.topic}
    # An app that was live under an earlier version and has no positions has read no message.
    has_read_none = not records and state.live is not None and not state.live.identity.left.name
    return ControlStart(former=unnamed if unnamed or has_read_none else None)


def _is_of(record: ControlOffset, topic: str, topic_id: str | None, is_own: bool) -> bool:
    if None not in (record.topic_id, topic_id):
        return record.topic_id == topic_id
    # Without ids the name decides. Earlier versions stored no name, and had no topics of a single app.
    return record.topic == topic or (not record.topic and not is_own)
