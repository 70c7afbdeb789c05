"""The sections of the configuration, apart from ``server``. ``docs/CONFIGURATION.md`` is generated from here.

To add a section, add a ``Section`` and a field of ``Config``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from evertable.config import checks, names
from evertable.config.section import Choice, Section, absolute_path, parsed, split_list
from evertable.config.server import Server
from evertable.config.start import Start
from evertable.errors import ConfigError
from evertable.kafka.properties import KafkaProperties
from evertable.problems import MISSING, Problem, invalid, nearest
from evertable.properties import Properties
from evertable.schema.columns import KEYLESS, Column, parse_columns
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring

DAY_S = 24 * 60 * 60

DAY_S = 86_400


class SwapMode(Choice):
    WARM = "warm"
    EAGER = "eager"


class Trigger(Choice):
    REALTIME = "realtime"
    MICROBATCH = "microbatch"


class LogLevel(Choice):
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    WARNING = "warn"
    ERROR = "error"


class LogFormat(Choice):
    CONSOLE = "console"
    JSON = "json"


MIN_INTERVAL_S = {Trigger.REALTIME: 5, Trigger.MICROBATCH: 0}  # Spark rejects shorter epochs in real-time mode
DEFAULT_INTERVAL_S = {Trigger.REALTIME: 300, Trigger.MICROBATCH: 0}

TopicName = Annotated[str, AfterValidator(names.topic)]
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\*?$")]
TopicPart = Annotated[str, AfterValidator(names.topic_part)]
SourceName = Annotated[str, AfterValidator(names.source)]
TableName = Annotated[str, AfterValidator(names.table)]


def _written(columns: tuple[Column, ...]) -> dict[str, object]:
    """Returns columns as they are written in the file."""
    return {
        column.name: str(column.type) if column.record_field is None else {"from": column.record_field.value}
        for column in columns
    }


class Control(Section):
    """The topic whose messages ask for other topics or another join: docs/CONTROL.md."""

    enabled: bool = Field(default=True, description="`false`: there is no control topic, and swaps go over REST only")
    topic: TopicName = Field(
        default="",
        description="topic of the control messages; created if it is missing. If you name one, apps may share it",
        json_schema_extra={"default": "`<changelog.prefix>.<app>.control`"},
    )


class Source(Section):
    """A configured input: a topic of JSON objects, its columns and the key it is joined by."""

    name: str = Field(description="the key of the source in `sources`", exclude=True)
    topic: TopicName = Field(description="the Kafka topic to read; two sources may read the same one")
    columns: Annotated[tuple[Column, ...], BeforeValidator(parse_columns), PlainSerializer(_written)] = Field(
        description="column: type; or `{from: kafka.timestamp}` for a field of the record itself"
    )
    key: str = Field(description="the column to join by; not float, double or json", min_length=1)
    start: Annotated[Start, parsed(Start, Start.parse), PlainSerializer(str)] = Field(
        default=Start.EARLIEST, description="`earliest`, `latest`, or a time with its zone (`2026-01-31T09:00:00Z`)"
    )
    max_ahead_s: int = Field(
        default=DAY_S,
        ge=60,
        description="a record whose timestamp is further ahead of the clock is rejected; it would stay the newest of "
        "its key for so long",
    )
    kafka: KafkaProperties = Field(
        default=KafkaProperties(), description="client properties for this source only, over those of `kafka`"
    )

    @property
    def key_column(self) -> Column:
        return next(column for column in self.columns if column.name == self.key)

    @field_validator("key")
    @classmethod
    def _can_be_joined_by(cls, key: str, info: ValidationInfo) -> str:
        columns = {column.name: column for column in info.data.get("columns", ())}
        if columns and key not in columns:
            raise ValueError(f"'{key}' is none of the columns; {nearest(key, columns)}")
        if columns and columns[key].type.kind in KEYLESS:
            raise ValueError(f"the column '{key}' is {columns[key].type}; float, double and json cannot be joined by")
        return key


class Join(Section):
    """How the two sources are joined."""

    type: Annotated[JoinType, parsed(JoinType, JoinType.parse)] = Field(
        default=JoinType.LEFT, description="`inner`, `left`, `natural` or `asof`, in any case"
    )
    max_matches: int = Field(
        default=1_000_000,
        ge=1,
        le=10**12,
        description="a key with more matches, such as `UNKNOWN`, is [quarantined](JOINS.md#keys-with-too-many-matches)",
    )
    left: str = Field(default="", description="the left source; by default the first one")
    right: str = Field(default="", description="the right source; by default the first other one")


class Swap(Section):
    """How one generation takes the place of another."""

    mode: SwapMode = Field(
        default=SwapMode.WARM,
        description="`warm`: live when its tables hold the backlog; `eager`: live as soon as its query runs",
    )
    timeout_s: int = Field(
        default=120, ge=1, le=DAY_S, description="time to become live, after which a generation fails; not the first"
    )
    linger_s: int = Field(
        default=8, ge=0, le=DAY_S, description="how long the previous generation is kept, so that a rollback is instant"
    )
    max_lingering: int = Field(default=2, ge=0, le=100, description="how many previous generations to keep at most")
    guard: bool = Field(
        default=True,
        description="hold a swap back if nothing useful was read from a new topic; `force` overrides it",
    )


def _default_interval(given: dict[str, Any]) -> int:
    return DEFAULT_INTERVAL_S[given.get("trigger", Trigger.REALTIME)]


class Engine(Section):
    """The Spark side."""

    master: str = Field(default="local[*]", min_length=1, description="any Spark master; `local[*]` gets enough slots")
    trigger: Trigger = Field(
        default=Trigger.REALTIME, description="`realtime` (milliseconds) or `microbatch` (the same plan, in batches)"
    )
    readers: int = Field(
        default=1,
        ge=1,
        le=64,
        description="tasks that read a generation's topics; more than 1 need [open ports](SECURITY.md#ports-of-spark)",
    )
    interval_s: int = Field(
        default_factory=_default_interval,
        ge=0,
        le=3600,
        description="length of a real-time epoch (at least 5), or time from one micro-batch to the next (0: at once)",
        json_schema_extra={"default": "300; 0 with `microbatch`"},
    )
    checkpoint_dir: str | None = Field(
        default=None,
        min_length=1,
        description="a folder (relative to the file) or a URI that Spark can write to; null: the engine's own choice",
    )
    spark: Properties = Field(default=Properties(), description="Spark settings, over those that the engine chooses")
    environment: Annotated[tuple[EnvironmentName, ...], BeforeValidator(split_list)] = Field(
        default=(),
        description="more variables that Spark inherits, by name, such as `AWS_*`; other secrets are not passed on",
        json_schema_extra={"default": "`[]`"},
    )

    @field_validator("checkpoint_dir")
    @classmethod
    def _relative_to_the_file(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None or "://" in value or value.startswith("file:"):
            return value
        return absolute_path(value, info)

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
    partitions: int = Field(default=1, ge=1, le=10_000, description="partitions of each changelog")
    replication: int = Field(
        default=1,
        ge=1,
        le=32767,
        description="replication factor of the changelogs and the state topic; use 3 in production",
    )
    kafka: KafkaProperties | None = Field(
        default=None, description="client properties for the changelogs, over those of `kafka`; also another cluster"
    )


class Logging(Section):
    """What Evertable logs, and how."""

    level: LogLevel = Field(default=LogLevel.INFO, description="`debug`, `info`, `warn` or `error`")
    format: LogFormat = Field(default=LogFormat.CONSOLE, description="`console` for people, `json` for machines")


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
    control: Control = Field(default=Control(), description="the topic whose messages ask for swaps")
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
    server: Server = Field(default=Server(), description="the address, limits and certificates of the server")
    logging: Logging = Field(default=Logging(), description="what Evertable logs, and how")

    _path: Path | None = PrivateAttr(default=None)
    _secret_paths: frozenset[str] = PrivateAttr(default=frozenset())
    """Dotted paths of values that came from a file or a secret variable."""
    _plaintext_secrets: tuple[tuple[str, ...], ...] = PrivateAttr(default=())
    """Paths of secrets that are written in the file itself."""

    @property
    def path(self) -> Path | None:
        """The file it was read from; None if there was only the environment."""
        return self._path

    @property
    def left(self) -> Source:
        return self.sources[self.join.left]

    @property
    def right(self) -> Source:
        return self.sources[self.join.right]

    def table_of(self, source: Source) -> str:
        """Returns the public name of a source's table."""
        return self.tables[source.name]

    @property
    def joined_table(self) -> str:
        """The public name of the joined table."""
        return self.tables[names.JOINED]

    def source_kafka(self, source: Source) -> KafkaProperties:
        """Returns the client properties for reading ``source``."""
        return source.kafka.merged_over(self.kafka)

    @property
    def changelog_kafka(self) -> KafkaProperties:
        """The client properties for the changelogs and the state topic."""
        return self.kafka if self.changelog.kafka is None else self.changelog.kafka.merged_over(self.kafka)

    @property
    def own_topics(self) -> names.OwnTopics:
        """The topics that cannot be sources."""
        return checks.own_topics(self.app, self.changelog, self.control)

    @property
    def wiring(self) -> Wiring:
        """The configured topics and join."""
        return Wiring(self.left.topic, self.right.topic, self.join.type)

    def rewired(self, wiring: Wiring) -> Config:
        """Returns a copy with the topics and the join of ``wiring``; ConfigError if they do not fit."""
        topics = {self.join.left: wiring.left_topic, self.join.right: wiring.right_topic}
        sources = {
            name: source.model_copy(update={"topic": topics.get(name, source.topic)})
            for name, source in self.sources.items()
        }
        join = self.join.model_copy(update={"type": wiring.join})
        copy = self.model_copy(update={"sources": sources, "join": join})
        if problems := [*checks.topic_names(sources), *checks.disagreements(copy)]:
            raise ConfigError("The wiring does not fit the configuration.", [str(problem) for problem in problems])
        return copy

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about what has no effect, or probably not the intended one."""
        return tuple(str(problem) for problem in checks.warnings(self))

    @model_validator(mode="before")
    @classmethod
    def _fill_in_defaults(cls, data: Any) -> Any:
        return checks.with_defaults(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _sections_agree(self) -> Self:
        if problems := [*checks.disagreements(self), *checks.unusable_security(self)]:
            raise invalid(problems)
        return self

    def __repr__(self) -> str:
        return f"Config({self._path!s})"  # the values may be secret

    __str__ = __repr__


def _unless_invalid(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validates a value, without its invalid keys if it has some; None if it is invalid all the same."""
    try:
        return validate(value)
    except ValidationError as error:
        wrong = {details["loc"][0] for details in error.errors() if details["loc"]}
    if not isinstance(value, dict):
        return None
    try:
        return validate({key: item for key, item in value.items() if key not in wrong})
    except ValidationError:
        return None


_Lenient = WrapValidator(_unless_invalid)


class Draft(Section):
    """The valid parts of a configuration that is invalid as a whole, so that they can be checked against each other."""

    model_config = ConfigDict(extra="ignore")

    app: Annotated[TopicPart | None, _Lenient] = names.APP
    control: Annotated[Control | None, _Lenient]
    sources: Annotated[Mapping[str, Annotated[Source | None, _Lenient]] | None, _Lenient] = None
    join: Annotated[Join | None, _Lenient] = None
    tables: Annotated[Mapping[str, TableName] | None, _Lenient] = None
    changelog: Annotated[Changelog | None, _Lenient] = Changelog()
