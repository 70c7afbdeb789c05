"""Moves an app from the control topic that all apps once shared to a control topic of its own."""

from __future__ import annotations

from collections.abc import Mapping

from evertable.control.messages import ControlMessage
from evertable.control.topic import ControlTopic
from evertable.control.writer import Writer
from evertable.errors import ControlReadOnlyError, NotAuthorizedError, TopicNotFoundError
from evertable.state.control_start import FORMER_DEFAULT
from evertable.state.records import ControlOffset


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
