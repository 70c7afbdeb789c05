"""Determines the identity of a generation from its configuration and its topics as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from evertable.background import run_concurrently
from evertable.changelog.schema import VERSION
from evertable.config import Config, Source
from evertable.errors import TopicNotFoundError
from evertable.kafka.admin import AdminPool
from evertable.kafka.topics import topic_id
from evertable.state.identity import Identity, SourceIdentity, mismatch

ENGINE_FORMAT = 3
"""The version of the keyed operator's state. Checkpoints of another version cannot be resumed."""


def identity_of(
    config: Config, ids: tuple[str | None, str | None], offsets: tuple[Mapping[int, int], Mapping[int, int]]
) -> Identity:
    """Returns the identity of a generation that is built from ``config``, which has the generation's wiring.

    ``ids`` are the topics' ids (:func:`topic_ids`), requested *before* the build reads the topics' offsets, so that a
    topic that is recreated in between counts as changed. ``offsets`` are those at which the sources begin, or the
    remembered ones when a resume is checked.
    """
    left, right = (
        SourceIdentity(source.topic, topic_id, str(source.start), dict(begin), source.name)
        for source, topic_id, begin in zip((config.left, config.right), ids, offsets, strict=True)
    )
    return Identity(left, right, _layout(config))


def change_of(
    remembered: Identity, config: Config, admins: AdminPool | None = None, *, timeout_s: float = 30.0
) -> str | None:
    """Describes the first difference to what would be built now from ``config``; None if there is none."""
    offsets = (remembered.left.offsets, remembered.right.offsets)
    return mismatch(remembered, identity_of(config, topic_ids(config, admins, timeout_s=timeout_s), offsets))


def topic_ids(
    config: Config, admins: AdminPool | None = None, *, timeout_s: float = 30.0
) -> tuple[str | None, str | None]:
    """Returns the ids of the left and the right topic; None where the broker is too old to have ids.

    TopicNotFoundError names both topics if both are missing.
    """
    clients = admins or AdminPool()

    def request(source: Source) -> str | TopicNotFoundError | None:
        admin = clients.of(config.source_kafka(source).for_librdkafka())
        try:
            return topic_id(admin, source.topic, timeout_s=timeout_s)
        except TopicNotFoundError as error:
            return error

    left, right = run_concurrently(lambda: request(config.left), lambda: request(config.right))
    missing = {str(each): each for each in (left, right) if isinstance(each, TopicNotFoundError)}
    if missing:  # by message: one topic may be both sides
        raise TopicNotFoundError.of([*missing.values()])
    return cast(tuple[str | None, str | None], (left, right))


def _layout(config: Config) -> dict[str, str]:
    return {
        "join": config.join.type.value,
        "left source": _columns(config.left),
        "right source": _columns(config.right),
        "max_matches": str(config.join.max_matches),
        "max_ahead_s": f"{config.left.max_ahead_s}, {config.right.max_ahead_s}",
        "trigger": config.engine.trigger.value,
        "readers": str(config.engine.readers),
        "changelog format": str(VERSION),
        "engine format": str(ENGINE_FORMAT),
    }


def _columns(source: Source) -> str:
    columns = ", ".join(
        f"{column.name} {column.type}" + (f" from {column.record_field}" if column.record_field else "")
        for column in source.columns
    )
    return f"{source.name} by {source.key} ({columns})"
