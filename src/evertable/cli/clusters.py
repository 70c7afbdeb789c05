"""Which Kafka the commands ``apps`` and ``forget`` talk to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evertable.config import KafkaProperties
from evertable.config.names import PREFIX


@dataclass(frozen=True)
class Clusters:
    """Where state and changelogs are, where control topics are, and what the names of both begin with."""

    own: KafkaProperties
    control: KafkaProperties
    prefix: str

    @classmethod
    def given(cls, kafka: str | None, config_file: Path | None, prefix: str | None) -> Clusters:
        """Those of ``--kafka``, else of the configuration."""
        from evertable.config import load

        if kafka:
            properties = KafkaProperties.of({"bootstrap.servers": kafka})
            return cls(properties, properties, prefix or PREFIX)
        config = load(config_file)
        return cls(config.changelog_kafka, config.kafka, prefix or config.changelog.prefix)

    @property
    def are_two(self) -> bool:
        """Whether control topics are on another cluster than the rest."""
        return self.own.is_another_cluster_than(self.control)

    @property
    def where(self) -> str:
        """The address of the one with state and changelogs."""
        return str(self.own.for_librdkafka().get("bootstrap.servers", ""))
