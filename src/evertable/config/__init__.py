"""Configuration: ``evertable.yaml``, the environment over it, and the typed, frozen models they become."""

from evertable.config.loading import load
from evertable.config.models import Config, Control, LogFormat, LogLevel, Source, Swap, SwapMode, Trigger
from evertable.config.rendering import effective
from evertable.config.server import Server
from evertable.config.start import Start
from evertable.kafka.properties import KafkaProperties
from evertable.schema.joins import JoinType

__all__ = [
    "Config",
    "Control",
    "JoinType",
    "KafkaProperties",
    "LogFormat",
    "LogLevel",
    "Server",
    "Source",
    "Start",
    "Swap",
    "SwapMode",
    "Trigger",
    "effective",
    "load",
]
