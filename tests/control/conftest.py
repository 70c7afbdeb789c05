"""Real control topics, and a broker that tests may kill and whose rights they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.changelog.producer import Produce, produce_to

from evertable.broker import EmbeddedBroker
from evertable.control.topic import ControlTopic
from evertable.kafka.properties import KafkaProperties

NewTopic = Callable[..., str]


def properties(broker: EmbeddedBroker, **more: str) -> KafkaProperties:
    return KafkaProperties.of({"bootstrap.servers": broker.bootstrap, **more})


@pytest.fixture(scope="session")
def produce(broker: EmbeddedBroker) -> Produce:
    return produce_to(broker.bootstrap)


@pytest.fixture(scope="session")
def admin(broker: EmbeddedBroker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def kafka(broker: EmbeddedBroker) -> KafkaProperties:
    return properties(broker)


@pytest.fixture(scope="package")
def own_broker() -> Iterator[EmbeddedBroker]:
    """A broker that may be killed, has an authorizer, and creates missing topics automatically."""
    with EmbeddedBroker(
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "auto.create.topics.enable": "true",
            "log.retention.ms": "-1",
        }
    ) as running:
        yield running


def allow_only(broker: EmbeddedBroker, topic: str, *operations: AclOperation) -> None:
    """Forbids everything else with the topic, such as writing to it or creating it."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    rules = [_rule(ResourceType.TOPIC, topic, operation) for operation in operations]
    rules.append(_rule(ResourceType.BROKER, "kafka-cluster", AclOperation.CREATE, AclPermissionType.DENY))
    rules.append(_rule(ResourceType.BROKER, "kafka-cluster", AclOperation.ALL))
    for made in admin.create_acls(rules).values():
        made.result(timeout=30)


def _rule(
    kind: ResourceType, name: str, operation: AclOperation, permission: AclPermissionType = AclPermissionType.ALLOW
) -> AclBinding:
    return AclBinding(kind, name, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation, permission)


def control_topic(broker: EmbeddedBroker, name: str, timeout_s: float = 30) -> ControlTopic:
    return ControlTopic(properties(broker), name, timeout_s=timeout_s)
