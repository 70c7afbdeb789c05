"""The sections ``kafka``, the shared one and those of a source or of the changelog."""

from __future__ import annotations

import pytest
from tests.config.conftest import Load, Problems

from evertable.config import Start
from evertable.kafka import property_names


@pytest.mark.parametrize("name", sorted(property_names.NOT_USED))
def test_properties_that_are_not_used(load_text: Load, minimal: str, name: str) -> None:
    """They are passed to neither client, and a warning explains why."""
    config = load_text(minimal.replace('"localhost:9092"', f'"localhost:9092", {name}: x'))
    assert (f"kafka.{name}: is not used: {property_names.NOT_USED[name]}",) == config.warnings
    assert (name in config.kafka.for_java(), name in config.kafka.for_librdkafka()) == (False, False)


def test_offset_reset_becomes_the_sources_start(load_text: Load, minimal: str) -> None:
    """A source's own overrides the shared one, ``start`` overrides both; neither client gets it."""
    text = minimal.replace('"localhost:9092"', '"localhost:9092", auto.offset.reset: largest')
    config = load_text(text)
    assert (config.left.start, config.right.start, config.warnings) == (Start.LATEST, Start.LATEST, ())
    assert {"bootstrap.servers"} == set(config.kafka.for_java()) == set(config.kafka.for_librdkafka())
    text = text.replace("topic: users_v1", "topic: users_v1, kafka: {auto: {offset: {reset: earliest}}}")
    text = text.replace("topic: accounts_v1", 'topic: accounts_v1, start: "2026-01-31T09:00:00Z"')
    config = load_text(text)
    assert (Start.EARLIEST, Start.parse("2026-01-31T09:00:00Z")) == (config.left.start, config.right.start)


def test_an_offset_reset_that_is_not_a_start(problems: Problems, minimal: str) -> None:
    """One problem, where it was written."""
    text = minimal.replace('"localhost:9092"', '"localhost:9092", auto.offset.reset: none')
    assert problems(text) == (
        "kafka.auto.offset.reset: must be earliest or latest; a source's start may also be a time (line 1)",
    )


def test_a_sources_own_properties(load_text: Load, minimal: str) -> None:
    """They override the shared ones, for that source only."""
    text = minimal.replace('"localhost:9092"', '"localhost:9092", client.id: me, sasl.username: u')
    config = load_text(text.replace("topic: users_v1", "topic: users_v1, kafka: {client.id: you}"))
    assert config.source_kafka(config.left).reveal() == {
        "bootstrap.servers": "localhost:9092",
        "client.id": "you",
        "sasl.username": "u",
    }
    assert config.kafka == config.source_kafka(config.right)


def test_credentials_stay_with_their_cluster(load_text: Load, minimal: str) -> None:
    """Another ``bootstrap.servers`` inherits the tuning, but not the secrets, with a warning."""
    shared = '"localhost:9092", client.id: me, security.protocol: SSL, ssl.ca.location: /ca'
    text = minimal.replace('"localhost:9092"', shared) + "changelog: {kafka: {bootstrap.servers: 'other:9092'}}\n"
    config = load_text(text)
    assert config.changelog_kafka.reveal() == {"bootstrap.servers": "other:9092", "client.id": "me"}
    warning = "changelog.kafka: names another cluster, which does not get the security properties of kafka"
    assert (warning,) == config.warnings
    same = load_text(text.replace("other:9092", "localhost:9092"))
    assert (same.kafka, ()) == (same.changelog_kafka, same.warnings)


def test_invalid_security_is_refused(problems: Problems, minimal: str, load_text: Load) -> None:
    """The problem is where it was written; a source that overrides it is judged by what is in effect."""
    text = minimal.replace('"localhost:9092"', '"localhost:9092", security.protocol: SSL, ssl.truststore.location: a')
    (message,) = problems(text)
    assert message.startswith("kafka.ssl.truststore.location: only Java reads JKS files")
    wrong = minimal.replace("topic: users_v1", "topic: users_v1, kafka: {security.protocol: SASL_SSL}")
    assert problems(wrong)[0].startswith("sources.users.kafka.sasl.mechanism: is missing")
    right = text.replace("ssl.truststore.location: a", "ssl.ca.location: a").replace(
        "topic: users_v1", "topic: users_v1, kafka: {ssl.endpoint.identification.algorithm: none}"
    )
    assert load_text(right).warnings == ()
