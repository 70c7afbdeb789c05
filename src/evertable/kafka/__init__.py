"""Kafka: client properties, consumers, admin clients, topics and clear errors."""
