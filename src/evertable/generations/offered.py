"""The topics that a source could be wired to, for those who choose one from a list."""

from __future__ import annotations

from evertable.config import Config, Role
from evertable.config.names import OwnTopics
from evertable.control.messages import keys_of
from evertable.generations.topic_ids import topic_names

_INTERNAL = "__"  # Kafka's own, such as __consumer_offsets


def offered(config: Config, *, timeout_s: float = 5.0) -> dict[str, list[str]]:
    """By the control key that takes them, in order; without Kafka's topics and ours. KafkaUnreachableError."""
    keys = keys_of(config)
    left, right = (config.source_kafka(source).for_librdkafka(Role.ADMIN) for source in (config.left, config.right))
    names = topic_names(left, timeout_s=timeout_s)
    others = names if right == left else topic_names(right, timeout_s=timeout_s)
    return {key: _wireable(found, keys.own) for key, found in ((keys.left, names), (keys.right, others))}


def _wireable(names: list[str], own: OwnTopics) -> list[str]:
    return sorted(name for name in names if not name.startswith(_INTERNAL) and not own.role(name))
