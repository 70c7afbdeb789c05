"""Suggests topics for a source: those to choose from, and those that a misspelled name may mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from evertable.config import Config
from evertable.config.names import OwnTopics
from evertable.control.messages import keys_of
from evertable.errors import EvertableError, TopicNotFoundError
from evertable.generations.identity import topic_ids
from evertable.kafka.topics import topic_names

SUGGEST_TIMEOUT_S = 1.0
"""How long a request for names to suggest may take: an error is reported without them, too."""
MAX_SUGGESTIONS = 3
MIN_SIMILARITY = 0.7  # difflib's ratio: 1 is the same; `users` and `users_v1` have 0.77

_INTERNAL = "__"  # of Kafka itself, such as __consumer_offsets


def selectable_topics(config: Config, *, timeout_s: float = 5.0) -> dict[str, list[str]]:
    """Returns topics by the control key that takes them, sorted, without internal ones. KafkaUnreachableError."""
    keys = keys_of(config)
    left, right = (config.source_kafka(source).for_librdkafka() for source in (config.left, config.right))
    names = topic_names(left, timeout_s=timeout_s)
    others = names if right == left else topic_names(right, timeout_s=timeout_s)
    return {key: _user_topics(found, keys.own) for key, found in ((keys.left, names), (keys.right, others))}


def missing_topics(config: Config, *, timeout_s: float) -> str:
    """Returns a sentence about the sources' topics that do not exist; empty if all do, or Kafka does not answer."""
    try:
        with suggesting(config):
            topic_ids(config, timeout_s=timeout_s)
    except TopicNotFoundError as missing:
        return missing.sentences
    except EvertableError:
        pass
    return ""


@contextmanager
def suggesting(config: Config) -> Iterator[None]:
    """Adds similar names to the error if a source's topic is not found in this block."""
    try:
        yield
    except TopicNotFoundError as missing:
        sources = {each.topic: config.source_kafka(each) for each in (config.right, config.left)}
        if missing.topic not in sources:
            raise
        explained = [
            with_suggestions(each, sources[each.topic].for_librdkafka(), config.own_topics) for each in missing.each
        ]
        raise TopicNotFoundError.of(explained) from None


def with_suggestions(
    missing: TopicNotFoundError, properties: Mapping[str, Any], own: OwnTopics | None = None
) -> TopicNotFoundError:
    """Returns the error with the names of similar topics that exist, if Kafka returns them quickly."""
    try:
        names = near(missing.topic, _user_topics(topic_names(properties, timeout_s=SUGGEST_TIMEOUT_S), own))
    except EvertableError:
        return missing
    if not names:
        return missing
    *others, last = (f"'{name}'" for name in names)
    meant = f"{', '.join(others)} or {last}" if others else last
    step = f"Did you mean {meant}? Correct the name, or create the topic."
    return TopicNotFoundError(missing.what, step, topic=missing.topic)


def near(name: str, known: Iterable[str]) -> list[str]:
    """Returns the known names that a misspelled ``name`` may mean, the likeliest first."""
    word, folded = name.lower(), {each.lower(): each for each in known}
    close = difflib.get_close_matches(word, folded, max(1, len(folded)), MIN_SIMILARITY)
    close.sort(key=lambda each: (-difflib.SequenceMatcher(None, each, word).ratio(), each))
    return [folded[each] for each in close[:MAX_SUGGESTIONS]]


def _user_topics(names: Iterable[str], own: OwnTopics | None) -> list[str]:
    return sorted(name for name in names if not name.startswith(_INTERNAL) and not (own and own.role(name)))
