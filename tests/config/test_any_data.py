"""Whatever a file and the environment hold, loading ends with a configuration or with problems."""

from __future__ import annotations

import copy
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.config.conftest import Load

from evertable.config import Config, effective
from evertable.config.structure import FIELDS
from evertable.errors import ConfigError

RIGHT: dict[str, Any] = {
    "app": "demo",
    "kafka": {"bootstrap.servers": "a:1"},
    "control": {},
    "swap": {},
    "sources": {name: {"topic": name, "key": "k", "columns": {"k": "long"}} for name in ("a", "b")},
    "join": {},
    "engine": {},
    "changelog": {},
    "tables": {},
    "server": {},
    "logging": {},
}
PLAIN = ("", "1", "-1", "null", "${X}", "${file:/}", "kafka.key", "~", "a", "b", "left", "x" * 300, "\x1b", "漢", "a:1")
WORDS = (*PLAIN, "*", "::1", "a/b", "https://a.example")
USUAL = ("a", "b", "k", "type", "from", "kafka", "spark", "name", "bootstrap.servers", "auto.offset.reset", "<<", "")
KEYS = (*USUAL, "joined", "tls", "key")
values = st.recursive(
    st.none() | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
places = st.sampled_from(FIELDS).flatmap(
    lambda path: st.tuples(*(st.sampled_from(["a", "b", "c"]) if part == "*" else st.just(part) for part in path))
)
variables = places.map(lambda path: "EVERTABLE_" + "__".join(path).upper())


def put(data: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for part in path[:-1]:
        inner = data.get(part)
        data[part] = inner if isinstance(inner, dict) else {}
        data = data[part]
    data[path[-1]] = value


def outcome(load_text: Load, text: str, env: dict[str, str]) -> tuple[Config | None, tuple[str, ...]]:
    try:
        return load_text(text, env), ()
    except ConfigError as error:
        return None, error.problems


@given(st.lists(st.tuples(places, values), max_size=4), st.dictionaries(variables, st.sampled_from(WORDS), max_size=2))
def test_any_value_anywhere(load_text: Load, changes: list[tuple[tuple[str, ...], Any]], env: dict[str, str]) -> None:
    """A valid configuration with any value in any place; if it is accepted, it can be shown."""
    data = copy.deepcopy(RIGHT)
    for path, value in changes:
        put(data, path, value)
    config, problems = outcome(load_text, yaml.safe_dump(data), env)
    assert (config is None) == bool(problems)
    assert all(problem.isprintable() for problem in problems)
    if config is not None:
        assert effective(config)
        assert isinstance(config.warnings, tuple)
        assert config.source_kafka(config.left).for_java()
        assert config.changelog_kafka.for_librdkafka()
        assert config.rewired(config.wiring) == config
        assert len({config.table_of(config.left), config.table_of(config.right), config.joined_table}) == 3
