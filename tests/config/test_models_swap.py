"""The sections ``control`` and ``swap``, and a configuration with another wiring."""

from __future__ import annotations

import pytest
from tests.config.conftest import Load, Problems

from evertable.config import JoinType, Swap, SwapMode, effective
from evertable.errors import ConfigError
from evertable.schema.wiring import Wiring


def test_a_very_long_linger_of_several(load_text: Load, minimal: str) -> None:
    config = load_text(minimal + "swap: {mode: Eager, linger_s: 900, max_lingering: 5, timeout_s: 3600}\n")
    assert config.swap == Swap(mode=SwapMode.EAGER, linger_s=900, max_lingering=5, timeout_s=3600)


def test_no_linger_and_no_control_topic(load_text: Load, minimal: str) -> None:
    config = load_text(
        minimal + "swap: {linger_s: 0, max_lingering: 0}\n",
        {"EVERTABLE_CONTROL__ENABLED": "false", "EVERTABLE_SWAP__TIMEOUT_S": "1"},
    )
    assert (config.control.enabled, config.swap.linger_s, config.swap.max_lingering) == (False, 0, 0)
    assert config.swap.timeout_s == 1


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("swap: {mode: cold}", "swap.mode: 'cold' is unknown; known are warm, eager"),
        ("swap: {linger_s: -1}", "swap.linger_s: '-1' is too small; the least is 0"),
        ("swap: {linger_s: 90000}", "swap.linger_s: '90000' is too large; the most is 86400"),
        ("swap: {linger: 8}", "swap.linger: is unknown; did you mean 'linger_s'?"),
        ("swap: {timeout_s: 0}", "swap.timeout_s: '0' is too small; the least is 1"),
        ("swap: {timeout_s: soon}", "swap.timeout_s: 'soon' is not a whole number"),
        ("swap: {max_lingering: 101}", "swap.max_lingering: '101' is too large; the most is 100"),
        ("control: {enabled: maybe}", "control.enabled: 'maybe' is neither true nor false"),
        ("control: {topic: a b}", "control.topic: 'a b' is not allowed in a topic's name"),
        ("control: {topic: ''}", "control.topic: is empty"),
        ("control: {topics: a}", "control.topics: is unknown; did you mean 'topic'?"),
        ("control: evertable-control", "control: must be a mapping (name: value)"),
        ("control: {topic: evertable.demo.g000001}", "control.topic: 'evertable.demo.g000001' is a changelog"),
        ("control: {topic: evertable.demo.state}", "control.topic: 'evertable.demo.state' is the state topic"),
        ("control: {topic: users_v1}", "sources.users.topic: 'users_v1' is the control topic"),
        ("app: a b", "app: 'a b' is not allowed in a topic's name"),
        ("changelog: {prefix: a b}", "changelog.prefix: 'a b' is not allowed in a topic's name"),
    ],
)
def test_problems(problems: Problems, minimal: str, written: str, problem: str) -> None:
    """One thing wrong is one problem, with its path."""
    found = problems(f"{minimal}{written}\n")
    assert [one.startswith(problem) for one in found] == [True], found


def test_without_a_control_topic_its_name_is_free(load_text: Load, minimal: str) -> None:
    config = load_text(minimal + "control: {enabled: no, topic: users_v1}\n")
    assert config.left.topic == "users_v1"


@pytest.mark.parametrize(
    ("written", "topic"),
    [
        ("app: shop\n", "evertable.shop.control"),
        ("app: 7\nchangelog: {prefix: a.b}\n", "a.b.7.control"),
        ("control: {topic: null}\n", "evertable.demo.control"),
        ("control: {topic: shared}\n", "shared"),
        ("control: {topic: evertable.demo.control}\n", "evertable.demo.control"),
    ],
)
def test_each_app_has_its_own_control_topic(load_text: Load, minimal: str, written: str, topic: str) -> None:
    """Another one may be configured."""
    assert load_text(minimal + written).control.topic == topic


def test_the_own_control_topic_is_no_source_even_if_it_is_not_used(problems: Problems, minimal: str) -> None:
    """`evertable forget` deletes it."""
    text = minimal.replace("topic: users_v1", "topic: evertable.demo.control") + "control: {topic: shared}\n"
    expected = "sources.users.topic: 'evertable.demo.control' is the default control topic of this app"
    assert [one.startswith(expected) for one in problems(text)] == [True]


def test_the_wiring(load_text: Load) -> None:
    """Which topics are joined, and how."""
    assert load_text().wiring == Wiring("users_v1", "accounts_v1", JoinType.LEFT)


def test_another_wiring(load_text: Load, minimal: str) -> None:
    """Nothing else changes, and the first configuration not at all."""
    config = load_text(minimal + "join: {left: accounts}\n  # a comment\nserver: {port: 1}\n")
    before = effective(config)
    wiring = Wiring("accounts_v2", "users_v2", JoinType.ASOF)
    again = config.rewired(wiring)
    assert (again.wiring, again.path) == (wiring, config.path)
    assert (again.left.name, again.left.topic, again.right.topic) == ("accounts", "accounts_v2", "users_v2")
    assert effective(again).replace("_v2", "_v1").replace("asof", "left") == before
    assert effective(config) == before
    assert again.rewired(config.wiring) == config


def test_a_source_that_is_not_joined_keeps_its_topic(load_text: Load, minimal: str) -> None:
    config = load_text(minimal + "  orders: {topic: o, key: id, columns: {id: long}}\n")
    again = config.rewired(Wiring("x", "x", JoinType.INNER))
    assert [source.topic for source in again.sources.values()] == ["x", "x", "o"]


@pytest.mark.parametrize(
    ("topic", "problem"),
    [
        ("a b", "sources.users.topic: 'a b' is not allowed in a topic's name"),
        ("", "sources.users.topic: is empty"),
        ("x" * 250, "sources.users.topic: a topic's name has at most 249 characters, not 250"),
        ("evertable.demo.g12", "sources.users.topic: 'evertable.demo.g12' is a changelog of Evertable's own"),
        ("evertable.demo.state", "sources.users.topic: 'evertable.demo.state' is the state topic of Evertable's own"),
        ("evertable.demo.control", "sources.users.topic: 'evertable.demo.control' is the control topic"),
    ],
)
def test_a_wiring_is_checked_like_a_file(load_text: Load, topic: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_text().rewired(Wiring(topic, "accounts_v1", JoinType.LEFT))
    assert [one.startswith(problem) for one in refused.value.problems] == [True], refused.value.problems


@pytest.mark.parametrize("join", JoinType)
def test_no_join_has_duplicate_columns_after_loading(load_text: Load, minimal: str, join: JoinType) -> None:
    """Loading checks every join, as a swap may change it."""
    text = minimal.replace("name: string", "name: string, ts: long, balance: long")
    assert load_text(text).rewired(Wiring("u", "a", join)).join.type == join
