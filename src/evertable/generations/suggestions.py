"""The topics that a source could be wired to, for those who choose one from a list, or who misspelled one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from evertable.config import Config, Role
from evertable.config.names import OwnTopics
from evertable.control.messages import keys_of
from evertable.errors import EvertableError, TopicNotFoundError
from evertable.kafka.topics import topic_names

QUICKLY_S = 1.0
"""For names to suggest: what is wrong is known without them."""
MAX_SUGGESTIONS = 3
LIKENESS = 0.7  # as difflib counts: 1 is the same; `users` and `users_v1` have 0.77

_INTERNAL = "__"  # Kafka's own, such as __consumer_offsets


def selectable_topics(config: Config, *, timeout_s: float = 5.0) -> dict[str, list[str]]:
    """By the control key that takes them, in order; without Kafka's topics and ours. KafkaUnreachableError."""
    keys = keys_of(config)
    left, right = (config.source_kafka(source).for_librdkafka(Role.ADMIN) for source in (config.left, config.right))
    names = topic_names(left, timeout_s=timeout_s)
    others = names if right == left else topic_names(right, timeout_s=timeout_s)
    return {key: _wireable(found, keys.own) for key, found in ((keys.left, names), (keys.right, others))}


@contextmanager
def suggesting(config: Config) -> Iterator[None]:
    """A source's topic that is not found in this block is told of with those that are called much like it."""
    try:
        yield
    except TopicNotFoundError as missing:
        told = [_told(each, config) for each in missing.each]
        if told == [*missing.each]:
            raise
        raise TopicNotFoundError.of(told) from missing


def _told(missing: TopicNotFoundError, config: Config) -> TopicNotFoundError:
    source = next((each for each in (config.left, config.right) if each.topic == missing.topic), None)
    if source is None:
        return missing
    return with_suggestions(missing, config.source_kafka(source).for_librdkafka(Role.ADMIN), config.own_topics)


def with_suggestions(
    missing: TopicNotFoundError, properties: Mapping[str, Any], own: OwnTopics | None = None
) -> TopicNotFoundError:
    """The same, with the names of topics that are there and are called much like it, if Kafka tells them quickly."""
    try:
        names = near(missing.topic, _wireable(topic_names(properties, timeout_s=QUICKLY_S), own))
    except EvertableError:
        return missing
    if not names:
        return missing
    *others, last = (f"'{name}'" for name in names)
    meant = f"{', '.join(others)} or {last}" if others else last
    step = f"Did you mean {meant}? Correct the name, or create the topic."
    return TopicNotFoundError(missing.what, step, topic=missing.topic)


def near(name: str, known: Iterable[str]) -> list[str]:
    """Those of the known names that ``name`` may be a slip of, the likeliest first."""
    word, folded = name.lower(), {each.lower(): each for each in known}
    close = difflib.get_close_matches(word, folded, max(1, len(folded)), LIKENESS)
    close.sort(key=lambda each: (-difflib.SequenceMatcher(None, each, word).ratio(), each))
    return [folded[each] for each in close[:MAX_SUGGESTIONS]]


def _wireable(names: Iterable[str], own: OwnTopics | None) -> list[str]:
    return sorted(name for name in names if not name.startswith(_INTERNAL) and not (own and own.role(name)))
