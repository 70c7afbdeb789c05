"""The embedded broker: the real Kafka, one node, for tests, the demo and trials."""

from evertable.broker.embedded import EmbeddedBroker

__all__ = ["EmbeddedBroker"]
