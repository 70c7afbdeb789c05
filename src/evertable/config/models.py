"""The configuration, section by section: frozen, typed, strict. ``docs/CONFIGURATION.md`` is generated from here.

A further section is one more ``Section`` and one more field of ``Config``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from evertable.config import checks, names
from evertable.config.choices import one_of
from evertable.config.section import Section, beside_the_file, listed
from evertable.config.server import Server
from evertable.config.start import Start
from evertable.config.swaps import Control, Swap
from evertable.errors import ConfigError
from evertable.kafka.properties import KafkaProperties
from evertable.problems import MISSING, Problem, invalid, nearest
from evertable.properties import Properties
from evertable.schema.columns import KEYLESS, Column, parse_columns
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring


class Trigger(StrEnum):
    REALTIME = "realtime"
    MICROBATCH = "microbatch"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class LogFormat(StrEnum):
    CONSOLE = "console"
    JSON = "json"


MIN_INTERVAL_S = {Trigger.REALTIME: 5, Trigger.MICROBATCH: 0}  # Spark refuses shorter epochs in real-time mode
DEFAULT_INTERVAL_S = {Trigger.REALTIME: 30, Trigger.MICROBATCH: 0}


def _parsed(kind: type[Any], parse: Callable[[str], Any]) -> BeforeValidator:
    return BeforeValidator(lambda value: value if isinstance(value, kind) else parse(str(value)))


TopicName = Annotated[str, AfterValidator(names.topic)]
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\*?$")]
TopicPart = Annotated[str, AfterValidator(names.topic_part)]
SourceName = Annotated[str, AfterValidator(names.source)]
TableName = Annotated[str, AfterValidator(names.table)]


class Source(Section):
    """A configured input: a topic of JSON objects, its columns and the key it is joined by."""

    name: str = Field(description="what stands before the colon")
    topic: TopicName = Field(description="the Kafka topic that is read; two sources may read the same one")
    key: str = Field(description="the column that is joined by; not float, double or json", min_length=1)
    columns: Annotated[tuple[Column, ...], BeforeValidator(parse_columns)] = Field(
        description="column: type; or `{from: kafka.timestamp}` for what the record itself says"
    )
    start: Annotated[Start, _parsed(Start, Start.parse)] = Field(
        default=Start.EARLIEST, description="`earliest`, `latest`, or a time with its zone (`2026-01-31T09:00:00Z`)"
    )
    kafka: KafkaProperties = Field(
        default=KafkaProperties(), description="client properties of this source's own, over those of `kafka`"
    )

    @property
    def key_column(self) -> Column:
        return next(column for column in self.columns if column.name == self.key)

    @model_validator(mode="after")
    def _key_can_be_joined_by(self) -> Self:
        if self.key not in (column.name for column in self.columns):
            known = nearest(self.key, [column.name for column in self.columns])
            raise invalid([Problem(("key",), f"'{self.key}' is none of the columns; {known}")])
        if self.key_column.type.kind in KEYLESS:
            reason = "nothing can be joined by float, double or json"
            raise invalid([Problem(("key",), f"the column '{self.key}' is {self.key_column.type}; {reason}")])
        return self


class Join(Section):
    """How the two sources are joined."""

    type: Annotated[JoinType, _parsed(JoinType, JoinType.parse)] = Field(
        default=JoinType.LEFT, description="`inner`, `left`, `natural` or `asof`, in any case"
    )
    left: str = Field(default="", description="the left source; the first one, if not said")
    right: str = Field(default="", description="the right source; the first other one, if not said")


def _default_interval(given: dict[str, Any]) -> int:
    return DEFAULT_INTERVAL_S[given.get("trigger", Trigger.REALTIME)]


class Engine(Section):
    """The Spark side."""

    master: str = Field(default="local[*]", min_length=1, description="any Spark master; `local[*]` gets enough slots")
    trigger: Annotated[Trigger, BeforeValidator(one_of(Trigger))] = Field(
        default=Trigger.REALTIME, description="`realtime` (milliseconds) or `microbatch` (the same plan, in batches)"
    )
    interval_s: int = Field(
        default_factory=_default_interval,
        ge=0,
        le=3600,
        description="length of a real-time epoch (at least 5), or time from one micro-batch to the next (0: at once)",
        json_schema_extra={"default": "30; 0 with `microbatch`"},
    )
    checkpoint_dir: str | None = Field(
        default=None,
        min_length=1,
        description="a folder (relative to the file) or a URI that Spark can write to; null: the engine's own choice",
    )
    spark: Properties = Field(default=Properties(), description="Spark settings, over those that the engine chooses")
    environment: Annotated[tuple[EnvironmentName, ...], BeforeValidator(listed)] = Field(
        default=(),
        description="more variables that Spark inherits, by name, such as `AWS_*`; secrets are not passed on otherwise",
        json_schema_extra={"default": "`[]`"},
    )

    @field_validator("checkpoint_dir")
    @classmethod
    def _relative_to_the_file(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None or "://" in value or value.startswith("file:"):
            return value
        return beside_the_file(value, info)

    @field_validator("interval_s")
    @classmethod
    def _long_enough(cls, value: int, info: ValidationInfo) -> int:
        trigger = info.data.get("trigger", Trigger.MICROBATCH)
        if value < MIN_INTERVAL_S[trigger]:
            raise ValueError(f"{value} is too short for {trigger}; the least is {MIN_INTERVAL_S[trigger]}")
        return value


class Changelog(Section):
    """The topics that Spark writes and the server reads, one per generation."""

    prefix: TopicPart = Field(
        default=names.PREFIX, description="begins the names of Evertable's own topics: `<prefix>.<app>.g000001`"
    )
    partitions: int = Field(default=1, ge=1, le=10_000, description="of each changelog")
    replication: int = Field(default=1, ge=1, le=32767, description="of each changelog; 3 on a cluster that must last")
    kafka: KafkaProperties | None = Field(
        default=None, description="client properties for the changelogs, over those of `kafka`; also another cluster"
    )


class Logging(Section):
    """What Evertable says about itself."""

    level: Annotated[LogLevel, BeforeValidator(one_of(LogLevel, {"warning": LogLevel.WARN}))] = Field(
        default=LogLevel.INFO, description="`debug`, `info`, `warn` or `error`"
    )
    format: Annotated[LogFormat, BeforeValidator(one_of(LogFormat))] = Field(
        default=LogFormat.CONSOLE, description="`console` for people, `json` for machines"
    )


def _has_servers(kafka: KafkaProperties) -> KafkaProperties:
    if "bootstrap.servers" not in kafka:
        raise invalid([Problem(("bootstrap.servers",), MISSING)])
    return kafka


class Config(Section):
    """All of ``evertable.yaml``."""

    app: TopicPart = Field(default=names.APP, description="part of the names of Evertable's own topics")
    kafka: Annotated[KafkaProperties, AfterValidator(_has_servers)] = Field(
        description="any Kafka client property, in Kafka's (Java) names; `bootstrap.servers` at least. "
        "[Logins and certificates](SECURITY.md)"
    )
    control: Control = Field(default=Control(), description="the topic whose messages re-wire everything")
    sources: Mapping[SourceName, Source] = Field(description="at least two, by name")
    join: Join = Field(default=Join(), description="how they are joined")
    tables: Mapping[str, TableName] = Field(
        default={},
        description="the public name of each source's table (by the source's name) and of the `joined` one",
        json_schema_extra={"default": "`<source>_ui` for each, `joined: final_ui`"},
    )
    swap: Swap = Field(default=Swap(), description="how one generation takes the place of another")
    engine: Engine = Field(default_factory=Engine, description="the Spark side")
    changelog: Changelog = Field(default=Changelog(), description="the topics between Spark and the server")
    server: Server = Field(default=Server(), description="where viewers come in")
    logging: Logging = Field(default=Logging(), description="what Evertable says about itself")

    _path: Path | None = PrivateAttr(default=None)
    _hidden: frozenset[str] = PrivateAttr(default=frozenset())
    _in_the_open: tuple[tuple[str, ...], ...] = PrivateAttr(default=())

    @property
    def path(self) -> Path | None:
        """The file it was read from; None where only the environment was."""
        return self._path

    @property
    def hidden(self) -> frozenset[str]:
        """Dotted paths of values that expansion made secret."""
        return self._hidden

    @property
    def in_the_open(self) -> tuple[tuple[str, ...], ...]:
        """Paths of secrets that stand in the file itself."""
        return self._in_the_open

    @property
    def left(self) -> Source:
        return self.sources[self.join.left]

    @property
    def right(self) -> Source:
        return self.sources[self.join.right]

    def table_of(self, source: Source) -> str:
        """The public name of a source's table."""
        return self.tables[source.name]

    @property
    def joined_table(self) -> str:
        """The public name of the joined table."""
        return self.tables[names.JOINED]

    def source_kafka(self, source: Source) -> KafkaProperties:
        """The client properties that reading ``source`` takes."""
        return source.kafka.merged_over(self.kafka)

    @property
    def changelog_kafka(self) -> KafkaProperties:
        """The client properties that writing and reading changelogs takes."""
        return self.kafka if self.changelog.kafka is None else self.changelog.kafka.merged_over(self.kafka)

    @property
    def own_topics(self) -> names.OwnTopics:
        """The topics that no source may be."""
        return checks.own_topics(self.app, self.changelog, self.control)

    @property
    def wiring(self) -> Wiring:
        """Which topics are joined here, and how."""
        return Wiring(self.left.topic, self.right.topic, self.join.type)

    def rewired(self, wiring: Wiring) -> Config:
        """The same with the topics and the join of ``wiring``; ConfigError where a file that said so would have it."""
        topics = {self.join.left: wiring.left_topic, self.join.right: wiring.right_topic}
        sources = {
            name: source.model_copy(update={"topic": topics.get(name, source.topic)})
            for name, source in self.sources.items()
        }
        join = self.join.model_copy(update={"type": wiring.join})
        copy = self.model_copy(update={"sources": sources, "join": join})
        if problems := [*checks.topic_names(sources), *copy._disagreements()]:
            raise ConfigError("The wiring does not fit the configuration.", [str(problem) for problem in problems])
        return copy

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about what was given and has no effect, or likely not the wanted one."""
        return tuple(str(problem) for problem in checks.remarks(self))

    @model_validator(mode="before")
    @classmethod
    def _defaults_from_elsewhere(cls, data: Any) -> Any:
        return checks.with_defaults(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        if problems := [*self._disagreements(), *checks.unusable(self)]:
            raise invalid(problems)
        return self

    def _disagreements(self) -> list[Problem]:
        return checks.disagreements(
            self.app, self.sources, self.sources, self.join, self.tables, self.changelog, self.control
        )

    def __repr__(self) -> str:
        return f"Config({self._path!s})"  # the values may be what must not be printed

    __str__ = __repr__
