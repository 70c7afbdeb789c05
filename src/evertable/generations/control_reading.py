"""Reads the control topic at a start: from where the state says, up to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evertable.control.messages import ControlMessage
from evertable.control.topic import ControlTopic
from evertable.control.writer import Writer
from evertable.errors import ControlReadOnlyError, NotAuthorizedError, TopicNotFoundError
from evertable.state.control_start import FORMER_DEFAULT, control_start
from evertable.state.records import ControlOffset
from evertable.state.state import AppState


@dataclass(frozen=True)
class ControlReading:
    """The messages that were read, and the offsets at which reading began."""

    offsets: Sequence[ControlOffset] = ()
    messages: Sequence[ControlMessage] = ()
    topic_id: str | None = None
    is_another_topic: bool = False
    """Whether the state remembers offsets of a different topic."""

    @property
    def after(self) -> dict[int, int]:
        """For each partition, the offset that is read next."""
        positions = {each.partition: each.next for each in self.offsets}
        for message in self.messages:
            positions[message.partition] = max(positions.get(message.partition, 0), message.offset + 1)
        return positions


def read_control(
    topic: ControlTopic, state: AppState, writer: Writer, report: Callable[[str, str], None], *, is_own: bool
) -> ControlReading:
    """Reads on where the last start left off, and creates a missing topic; ``report`` logs if it begins elsewhere.

    ``is_own`` is whether no other app reads the topic. Raises KafkaUnreachableError.
    """
    topic.ensure()
    topic_id = topic.describe().id
    start = control_start(state, topic.name, topic_id, is_own=is_own)
    if start.is_recreated:
        report("WARN", f"The control topic '{topic.name}' was recreated; reading it from the beginning")
    if start.from_end:
        why = "what it holds by now may have been sent to other apps"
        report("INFO", f"The control topic '{topic.name}' is read from its end: {why}")
    if start.former is not None:
        report("WARN", move_messages(start.former, topic, writer))
    positions = topic.positions(start.after, from_end=start.from_end)
    messages = topic.read_all(positions)
    if messages:
        report("INFO", f"{len(messages)} control messages since the last start")
    offsets = [ControlOffset(partition, at, topic_id, topic.name) for partition, at in positions.items()]
    return ControlReading(offsets, messages, topic_id, start.is_another_topic)


def move_messages(former: Mapping[int, ControlOffset], own: ControlTopic, writer: Writer) -> str:
    """Copies unread messages of the former topic to the app's own, and returns a warning for the log.

    Messages keep their timestamps, so they count before newer ones. Copying them twice, after a crash, changes nothing.
    Raises KafkaUnreachableError.
    """
    unread = _read_unread(ControlTopic(own.kafka, FORMER_DEFAULT), former)
    if unread is None:
        return f"The control topic is now '{own.name}'; the former one is unknown. Send control messages there."
    copied = f" {len(unread)} unread messages were copied." if unread else ""
    try:
        for message in unread:
            writer.copy(message)
    except ControlReadOnlyError as error:
        copied = f" {len(unread)} unread messages could not be copied; send them again. {error}"
    return (
        f"The control topic is now '{own.name}'; it was '{FORMER_DEFAULT}', which all apps shared.{copied} "
        f"Send control messages to '{own.name}', or set control.topic to '{FORMER_DEFAULT}'."
    )


def _read_unread(topic: ControlTopic, former: Mapping[int, ControlOffset]) -> list[ControlMessage] | None:
    """Returns the messages that were not read yet; None if the topic that was read no longer exists."""
    try:
        topic_id = topic.describe().id
        if any(None not in (each.topic_id, topic_id) and each.topic_id != topic_id for each in former.values()):
            return None
        return topic.read_all({partition: each.next for partition, each in former.items()})
    except (TopicNotFoundError, NotAuthorizedError):
        return None
