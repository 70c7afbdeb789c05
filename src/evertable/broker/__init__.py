"""The embedded broker: a real Kafka with one node, for tests, the demo and trials."""

from evertable.broker.embedded import EmbeddedBroker

__all__ = ["EmbeddedBroker"]
