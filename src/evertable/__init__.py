"""Evertable: live Kafka joins on Spark, under names that never break."""

__version__ = "0.1.0"
