"""Decides where reading the control topic begins at a start, from what the state remembers of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evertable.state.records import ControlOffset
from evertable.state.state import AppState

FORMER_DEFAULT = "evertable-control"
"""The control topic of all apps whose configuration named none, before each app had one of its own."""


@dataclass(frozen=True)
class ControlStart:
    """Where to begin; a partition that is not in ``after`` is read from its beginning, or from its end."""

    after: Mapping[int, int] = field(default_factory=dict)
    from_end: bool = False
    """The topic may be shared, and what it holds by now may have been sent to other apps."""
    made_again: bool = False
    """The topic was deleted and made again since it was read last."""
    former: Mapping[int, ControlOffset] | None = None
    """What an earlier version had read of ``FORMER_DEFAULT``; None if this app has nothing to move from there."""

    @property
    def is_another_topic(self) -> bool:
        """Whether verdicts that are remembered are about messages of another topic."""
        return not self.after


def control_start(state: AppState, topic: str, topic_id: str | None, *, is_own: bool) -> ControlStart:
    """Compares what is remembered with the control topic as it is now; ``is_own`` if no other app reads it."""
    records = state.control
    same = {partition: each.next for partition, each in records.items() if _is_of(each, topic, topic_id, is_own)}
    if same:
        return ControlStart(same)
    if any(each.topic == topic for each in records.values()):
        return ControlStart(made_again=True)
    if not is_own:
        return ControlStart(from_end=True)
    unnamed = {partition: each for partition, each in records.items() if not each.topic}
    # An app that was live under an earlier version and remembers no offset had met no message.
    has_met_none = not records and state.live is not None and not state.live.identity.left.name
    return ControlStart(former=unnamed if unnamed or has_met_none else None)


def _is_of(record: ControlOffset, topic: str, topic_id: str | None, is_own: bool) -> bool:
    if None not in (record.topic_id, topic_id):
        return record.topic_id == topic_id
    # Without ids the name decides. Earlier versions wrote none, and knew no topics of one app.
    return record.topic == topic or (not record.topic and not is_own)
