"""Configuration: ``evertable.yaml``, the environment over it, and the typed, frozen models they become."""

from __future__ import annotations

from evertable.config.loading import load, places_searched
from evertable.config.models import (
    Changelog,
    Config,
    Engine,
    Join,
    LogFormat,
    Logging,
    LogLevel,
    Source,
    Trigger,
)
from evertable.config.rendering import effective
from evertable.config.section import Section
from evertable.config.server import Server, Tls
from evertable.config.start import Start
from evertable.config.swaps import Control, Swap, SwapMode
from evertable.kafka.properties import KafkaProperties, Role
from evertable.properties import Properties
from evertable.schema.columns import Column, ColumnType, Kind, RecordField, parse_columns
from evertable.schema.joins import JoinedColumn, JoinType, joined_columns

__all__ = [
    "Changelog",
    "Column",
    "ColumnType",
    "Config",
    "Control",
    "Engine",
    "Join",
    "JoinType",
    "JoinedColumn",
    "KafkaProperties",
    "Kind",
    "LogFormat",
    "LogLevel",
    "Logging",
    "Properties",
    "RecordField",
    "Role",
    "Section",
    "Server",
    "Source",
    "Start",
    "Swap",
    "SwapMode",
    "Tls",
    "Trigger",
    "effective",
    "joined_columns",
    "load",
    "parse_columns",
    "places_searched",
]
