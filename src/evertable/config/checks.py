"""Fills in defaults that depend on other sections, and checks sections against each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evertable.config import names
from evertable.config.server import SHORT_TOKEN
from evertable.kafka.dialects import Dialects
from evertable.kafka.properties import OFFSET_RESETS, KafkaProperties
from evertable.kafka.property_names import is_security
from evertable.problems import Problem, nearest
from evertable.properties import flatten
from evertable.schema.joins import JoinType, joined_columns

if TYPE_CHECKING:
    from evertable.config.models import Changelog, Config, Control, Draft, Join, Source


def with_defaults(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fills in the control topic, each source's name and start, the join's sides and the tables' names."""
    filled = dict(data)
    control, changelog, join, tables = (_given(data.get(name)) for name in ("control", "changelog", "join", "tables"))
    if control is not None:
        prefix, app = str((changelog or {}).get("prefix") or names.PREFIX), str(data.get("app") or names.APP)
        filled["control"] = control
        with suppress(ValueError):  # reported for the prefix or the app
            filled["control"] = {"topic": names.topic(names.OwnTopics(prefix, app, "").default_control), **control}
    sources = data.get("sources")
    if not isinstance(sources, Mapping):
        return filled
    shared = _offset_reset(data.get("kafka"))
    filled["sources"] = {str(name): _source(str(name), source, shared) for name, source in sources.items()}
    if join is None:
        return filled
    left = join.get("left") or next((name for name in sources if name != join.get("right")), "")
    right = join.get("right") or next((name for name in sources if name != left), "")
    filled["join"] = join | {"left": left, "right": right}
    if tables is not None:
        by_lower = {name.lower(): name for name in (*sources, names.JOINED)}  # variables may write a source in capitals
        given = {key if key in sources else by_lower.get(key.lower(), key): name for key, name in tables.items()}
        sides = {side: f"{side}_ui" for side in (left, right) if isinstance(side, str) and side}
        filled["tables"] = sides | {names.JOINED: "final_ui"} | given
    return filled


def _given(section: object) -> dict[str, Any] | None:
    """Returns what a section holds, without nulls; None if it is not a mapping."""
    if section is not None and not isinstance(section, Mapping):
        return None
    return {str(key): value for key, value in (section or {}).items() if value is not None}


def _source(name: str, source: object, shared_reset: str | None) -> object:
    given = _given(source)
    if given is None:
        return source
    reset = _offset_reset(given.get("kafka")) or shared_reset
    return {"name": name, **({"start": reset} if reset else {}), **given}


def _offset_reset(kafka: object) -> str | None:
    """Returns the start that ``auto.offset.reset`` stands for, if it is given and valid."""
    try:
        flat = flatten(kafka) if isinstance(kafka, Mapping) else {}
    except ValueError:
        return None
    return OFFSET_RESETS.get(str(flat.get("auto.offset.reset")).strip().lower())


def disagreements(given: Config | Draft) -> list[Problem]:
    """Returns the problems between sections. What is invalid by itself is None, and is not checked against others."""
    found: list[Problem] = []
    valid = {name: source for name, source in (given.sources or {}).items() if source is not None}
    if given.sources is not None:
        found += _names(given.sources)
        found += [
            Problem(("sources", name, "name"), "is the key of the source; leave it out")
            for name, source in valid.items()
            if source.name != name
        ]
        if given.join is not None:
            found += _join(given.sources, valid, given.join)
        if given.tables is not None:
            found += _tables(given.sources, given.tables, given.join)
    if given.app is not None and given.changelog is not None:
        longest = len(f"{given.changelog.prefix}.{given.app}.g") + names.MAX_GENERATION_DIGITS
        if longest > names.MAX_TOPIC:
            what = f"is too long, with app: a topic's name has at most {names.MAX_TOPIC} characters"
            found.append(Problem(("changelog", "prefix"), what))
        if given.control is not None:
            found += _own_topics(own_topics(given.app, given.changelog, given.control), valid, given.control)
    return found


def topic_names(sources: Mapping[str, Source]) -> Iterator[Problem]:
    """Yields a problem for each source whose topic name Kafka would reject."""
    for name, source in sources.items():
        try:
            names.topic(source.topic)
        except ValueError as error:
            yield Problem(("sources", name, "topic"), str(error))


def own_topics(app: str, changelog: Changelog, control: Control) -> names.OwnTopics:
    return names.OwnTopics(changelog.prefix, app, control.topic if control.enabled else "")


def _names(named: Collection[str]) -> Iterator[Problem]:
    if len(named) < 2:
        yield Problem(("sources",), f"at least two are needed, there {'is one' if named else 'are none'}")
    seen: dict[str, str] = {}
    for name in named:
        if name.lower() == names.JOINED:
            yield Problem(("sources", name), "is the name of the joined table in tables; choose another name")
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield Problem(("sources", name), f"differs from '{other}' in case only")


def _join(named: Collection[str], sources: Mapping[str, Source], join: Join) -> Iterator[Problem]:
    for side, name in (("left", join.left), ("right", join.right)):
        if name and name not in named:
            yield Problem(("join", side), f"'{name}' is not a source; {nearest(name, named)}")
    if join.left == join.right and join.left:
        yield Problem(("join", "right"), f"'{join.right}' is the left source too; two are needed, even for one topic")
    elif join.left in sources and join.right in sources:
        left, right = sources[join.left], sources[join.right]
        if left.key_column.type != right.key_column.type:
            mine, theirs = right.key_column.type, left.key_column.type
            yield Problem(("sources", join.right, "key"), f"is {mine}, but the key of '{join.left}' is {theirs}")
        yield from _clashes(left, right)


def _tables(named: Collection[str], tables: Mapping[str, str | None], join: Join | None) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for key, name in tables.items():
        if key != names.JOINED and key not in named:
            if join is None or key not in (join.left, join.right):  # those are the join's problem
                yield Problem(("tables", key), f"is not a source; {nearest(key, (*named, names.JOINED))}")
        elif name in names.OPERATORS:
            yield Problem(("tables", key), f"'{name}' is one of the operators' tables; choose another name")
        elif name is not None and (other := seen.setdefault(name, key)) != key:
            yield Problem(("tables", key), f"'{name}' is also the name of the table of {other}")


def _clashes(left: Source, right: Source) -> Iterator[Problem]:
    """Yields columns whose names clash even after renaming; in every join, as a control message may change it."""
    reported = set()
    for join in JoinType:
        columns = joined_columns(join, left, right)
        seen = {column.name for column in columns if column.column is None or column.name == column.column.name}
        for column in columns:
            if column.column is None or column.name == column.column.name or column.name in reported:
                continue
            if column.name in seen:
                reported.add(column.name)
                what = f"would be called '{column.name}' in the joined table, and so is another column"
                yield Problem(("sources", column.source, "columns", column.column.name), what)
            seen.add(column.name)


def _own_topics(own: names.OwnTopics, sources: Mapping[str, Source], control: Control) -> Iterator[Problem]:
    for name, source in sources.items():
        if role := own.role(source.topic):
            yield Problem(("sources", name, "topic"), f"'{source.topic}' is {role}")
    is_default = control.topic == own.default_control
    if control.enabled and not is_default and (role := replace(own, control="").role(control.topic)):
        yield Problem(("control", "topic"), f"'{control.topic}' is {role}")


def unusable_security(config: Config) -> Iterator[Problem]:
    """Yields the security properties that one of the Kafka clients does not support, where they were given."""
    for path, _, in_effect in _kafka_sections(config):
        yield from (Problem((*path, *problem.path), problem.what) for problem in in_effect.refusals)


def warnings(config: Config) -> Iterator[Problem]:
    """Yields what is allowed but has no effect, or probably not the intended one."""
    for path, kafka, in_effect in _kafka_sections(config):
        for problem in (*kafka.warnings(), *in_effect.warnings):
            yield Problem((*path, *problem.path), problem.what)
        elsewhere = path != ("kafka",) and kafka.is_another_cluster_than(config.kafka)
        if elsewhere and any(map(is_security, config.kafka)) and not any(map(is_security, kafka)):
            yield Problem(path, "names another cluster, which does not get the security properties of kafka")
    if config.changelog.kafka is not None and "auto.offset.reset" in config.changelog.kafka:
        what = "is not used: a changelog is always read from its beginning"
        yield Problem(("changelog", "kafka", "auto.offset.reset"), what)
    for name in config.sources:
        if name not in (config.join.left, config.join.right):
            yield Problem(("sources", name), "is not part of the join and is not read")
    for name in config.tables:
        if name not in (config.join.left, config.join.right, names.JOINED):
            yield Problem(("tables", name), "has no effect: the source is not part of the join")
    for path in config._plaintext_secrets:
        yield Problem(path, "is a secret in the file itself; write ${VAR} or ${file:path} instead")
    token = config.server.token
    if token is not None and len(token.get_secret_value()) < SHORT_TOKEN:
        yield Problem(("server", "token"), f"is short enough to be guessed; use {SHORT_TOKEN} characters or more")
    for name in config.engine.spark:
        if not name.startswith("spark."):
            yield Problem(("engine", "spark", name), "Spark's settings begin with 'spark.'; this may have no effect")


def _kafka_sections(config: Config) -> Iterator[tuple[tuple[str, ...], KafkaProperties, Dialects]]:
    """Yields each section of client properties: its path, its content, and what is in effect with it.

    A problem that the section ``kafka`` has too is not repeated.
    """
    shared = config.kafka.dialects()
    yield ("kafka",), config.kafka, shared
    sections: dict[tuple[str, ...], KafkaProperties]
    sections = {("sources", name, "kafka"): source.kafka for name, source in config.sources.items()}
    if config.changelog.kafka is not None:
        sections["changelog", "kafka"] = config.changelog.kafka
    for path, kafka in sections.items():
        in_effect = kafka.merged_over(config.kafka).dialects()
        in_effect.refusals = [problem for problem in in_effect.refusals if problem not in shared.refusals]
        in_effect.warnings = [problem for problem in in_effect.warnings if problem not in shared.warnings]
        yield path, kafka, in_effect
