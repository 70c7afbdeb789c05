"""The embedded broker: a real Kafka with one node, for tests, the demo and trials."""

from evertable.broker.embedded import EmbeddedBroker
from evertable.broker.security import Issuer, Listener, Security

__all__ = ["EmbeddedBroker", "Issuer", "Listener", "Security"]
