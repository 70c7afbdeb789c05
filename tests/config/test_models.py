"""The sections, and their consistency with each other."""

from __future__ import annotations

import pickle

import pytest
from pydantic import ValidationError
from tests.config.conftest import Load, Problems

from evertable.config import JoinType, KafkaProperties, LogFormat, LogLevel, Start, Trigger


def test_defaults(load_text: Load) -> None:
    """Only kafka and sources are required."""
    config = load_text()
    assert config.app == "demo"
    assert (config.join.type, config.join.left, config.join.right) == (JoinType.LEFT, "users", "accounts")
    assert (
        config.engine.master,
        config.engine.trigger,
        config.engine.interval_s,
        config.engine.checkpoint_dir,
        config.engine.spark.reveal(),
    ) == ("local[*]", Trigger.REALTIME, 300, None, {})
    assert (
        config.changelog.prefix,
        config.changelog.partitions,
        config.changelog.replication,
        config.changelog.kafka,
    ) == ("evertable", 1, 1, None)
    assert (config.logging.level, config.logging.format) == (LogLevel.INFO, LogFormat.CONSOLE)
    assert (Start.EARLIEST, KafkaProperties()) == (config.left.start, config.left.kafka)
    assert config.warnings == ()


def test_a_null_means_the_default(load_text: Load, minimal: str) -> None:
    """This holds for values and for whole sections."""
    text = minimal + "app:\njoin: ~\nengine: {trigger: null, spark: }\nchangelog: {kafka: null}\n"
    assert load_text(minimal) == load_text(text)


def test_it_is_frozen_and_travels(load_text: Load, minimal: str) -> None:
    """Nothing can be set, and a copy in another process is equal."""
    config = load_text(minimal.replace('"localhost:9092"', '"localhost:9092", sasl.password: x'))
    with pytest.raises(ValidationError):
        config.app = "other"
    with pytest.raises(TypeError):
        config.kafka.values["x"] = "y"  # type: ignore[index]
    assert config == pickle.loads(pickle.dumps(config))  # noqa: S301 - our own bytes


def test_names_and_sides(load_text: Load, minimal: str) -> None:
    """A source has its name; the sides are the first two sources, or those of the join."""
    config = load_text(minimal + "join: {left: accounts, type: AJ}\n")
    assert (config.join.type, config.left.name, config.right.name) == (JoinType.ASOF, "accounts", "users")
    config = load_text(minimal + "join: {right: users}\n")
    assert (config.left.name, config.right.name) == ("accounts", "users")
    assert config.left.key_column.name == "userId"


def test_the_interval_depends_on_the_trigger(load_text: Load, problems: Problems, minimal: str) -> None:
    """Micro-batches follow each other at once; a real-time epoch has at least five seconds."""
    assert load_text(minimal + "engine: {trigger: microbatch}").engine.interval_s == 0
    assert load_text(minimal + "engine: {interval_s: 5}").engine.interval_s == 5
    assert problems(minimal + "engine: {interval_s: 4}") == (
        "engine.interval_s: 4 is too short for realtime; the least is 5 (line 5)",
    )
    assert problems(minimal + "engine: {interval_s: 3601, trigger: microbatch}") == (
        "engine.interval_s: '3601' is too large; the most is 3600 (line 5)",
    )


def test_the_checkpoint_folder_is_relative_to_the_file(load_text: Load, minimal: str) -> None:
    """A URI is unchanged."""
    config = load_text(minimal + "engine: {checkpoint_dir: state}\n")
    assert config.path is not None
    assert str(config.path.parent / "state") == config.engine.checkpoint_dir
    assert load_text(minimal + "engine: {checkpoint_dir: 's3a://b/x'}\n").engine.checkpoint_dir == "s3a://b/x"


def test_one_topic_may_feed_both_sources(load_text: Load, minimal: str) -> None:
    """A self-join is two sources on one topic."""
    config = load_text(minimal.replace("accounts_v1", "users_v1"))
    assert config.left.topic == config.right.topic


def test_keys_may_have_different_names(load_text: Load, minimal: str) -> None:
    """Their types must be equal, their names need not."""
    config = load_text(minimal.replace("key: userId, columns: {userId: string, name", "key: name, columns: {name", 1))
    assert (config.left.key_column.name, config.right.key_column.name) == ("name", "userId")


def test_a_third_source_is_not_read(load_text: Load, minimal: str) -> None:
    """That is allowed, with a warning."""
    config = load_text(minimal + "  orders: {topic: o, key: id, columns: {id: long}}\n")
    assert config.warnings == ("sources.orders: is not part of the join and is not read",)


USERS, ACCOUNTS = "columns: {userId: string, name: string}", "columns: {userId: string, balance: double}"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("key: userId", "key: userID", "sources.users.key: 'userID' is none of the columns; did you mean 'userId'?"),
        (ACCOUNTS, "columns: {userId: long}", "sources.accounts.key: is long, but the key of 'users' is string"),
        (
            USERS,
            "columns: {userId: json}",
            "sources.users.key: the column 'userId' is json; float, double and json cannot be joined by",
        ),
        (USERS, "columns: {}", "sources.users.columns: is empty"),
        (USERS, "columns: [userId]", "sources.users.columns: must be a mapping (column: type)"),
        (USERS, "columns: {userId: string, '': string}", "sources.users.columns.: a column's name must not be empty"),
        (USERS, "columns: {userId: string, age: }", "sources.users.columns.age: has no type"),
        ("users_v1", "users v1", "sources.users.topic: 'users v1' is not allowed in a topic's name"),
        ("users_v1", "..", "sources.users.topic: '..' cannot name a topic"),
        ("users_v1", "u" * 250, "sources.users.topic: a topic's name has at most 249 characters, not 250"),
        ("users_v1", "''", "sources.users.topic: is empty"),
        ("users_v1", "[a, b]", "sources.users.topic: must be one text"),
        ("users_v1", "evertable.demo.g000001", "sources.users.topic: 'evertable.demo.g000001' is a changelog"),
        ("topic: users_v1, ", "", "sources.users.topic: is missing"),
        ("topic: users_v1", "topic: users_v1, name: x", "sources.users.name: is the key of the source"),
        ("topic: users_v1", "topic: users_v1, start: now", "sources.users.start: 'now' is not a start"),
        ("  users:", "  us-ers:", "sources.us-ers: 'us-ers' cannot name a source"),
        ("  users:", "  Accounts:", "sources.accounts: differs from 'Accounts' in case only"),
        ("kafka:", "app: ..\nkafka:", "app: '..' cannot name a topic"),
        ("kafka:", "app: a/b\nkafka:", "app: 'a/b' is not allowed in a topic's name"),
        ("kafka:", "join: {left: user}\nkafka:", "join.left: 'user' is not a source; did you mean 'users'?"),
        ("kafka:", "join: {left: users, right: users}\nkafka:", "join.right: 'users' is the left source too"),
        ("kafka:", "join: {type: outer}\nkafka:", "join.type: 'outer' is not a join type; known are inner"),
        ("kafka:", "engine: fast\nkafka:", "engine: must be a mapping (name: value)"),
        ("kafka:", "engine: {trigger: fast}\nkafka:", "engine.trigger: 'fast' is unknown; known are realtime, micro"),
        ("kafka:", "engine: {spark: x}\nkafka:", "engine.spark: must be a mapping (name: value)"),
        ("kafka:", "changelog: {partitions: 0}\nkafka:", "changelog.partitions: '0' is too small; the least is 1"),
        ("kafka:", "changelog: {replication: 1.5}\nkafka:", "changelog.replication: '1.5' is not a whole number"),
        ("kafka:", f"changelog: {{prefix: {'p' * 240}}}\nkafka:", "changelog.prefix: is too long, with app"),
        ("kafka:", "logging: {level: loud}\nkafka:", "logging.level: 'loud' is unknown; known are debug, info"),
        ("kafka:", "loging: {}\nkafka:", "loging: is unknown; did you mean 'logging'?"),
        ("kafka:", "wibble: {port: 1}\nkafka:", "wibble: is unknown; known are app, kafka, control, sources, join"),
        ('{bootstrap.servers: "localhost:9092"}', "{}", "kafka.bootstrap.servers: is missing"),
        ('{bootstrap.servers: "localhost:9092"}', "", "kafka: is missing"),
        ('"localhost:9092"', "localhost", "kafka.bootstrap.servers: 'localhost' is not host:port"),
        ('"localhost:9092"', "'a:1,b:99999'", "kafka.bootstrap.servers: 'b:99999' is not host:port"),
    ],
)
def test_problems(problems: Problems, minimal: str, old: str, new: str, problem: str) -> None:
    """One thing wrong is one problem, with its path."""
    found = problems(minimal.replace(old, new, 1))
    assert [one.startswith(problem) for one in found] == [True], found


def test_too_few_sources(problems: Problems) -> None:
    """A join takes two."""
    kafka = "kafka: {bootstrap.servers: 'a:1'}\n"
    assert problems(kafka) == ("sources: is missing",)
    assert problems(kafka + "sources: {}") == ("sources: at least two are needed, there are none (line 2)",)
    one = "sources: {a: {topic: t, key: k, columns: {k: long}}}"
    assert problems(kafka + one) == ("sources: at least two are needed, there is one (line 2)",)


def test_columns_with_the_same_name(problems: Problems) -> None:
    """All joins are checked, since a control message may change it: here only asof's ``ts`` is a duplicate."""
    text = """
kafka: {bootstrap.servers: "localhost:9092"}
sources:
  users: {topic: u, key: id, columns: {id: long, users_ts: long, ts: long}}
  accounts: {topic: a, key: id, columns: {id: long}}
"""
    expected = (
        "sources.users.columns.ts: would be called 'users_ts' in the joined table, and so is another column (line 4)"
    )
    assert (expected,) == problems(text)


def test_all_problems_at_once(problems: Problems) -> None:
    """Including those between sections, if another part is wrong."""
    text = """
app: a/b
kafka: {bootstrap.servers: localhost}
sources:
  users: {topic: u v, key: id, columns: {id: long}, strat: latest}
  accounts: {topic: a, key: ids, columns: {id: string, x: strng}}
  orders: {topic: a, key: ids, columns: {id: string}, start: soon}
join: {left: nobody, right: users, type: cross}
engine: {trigger: fast, interval_s: soon}
"""
    expected = [
        "app",
        "kafka.bootstrap.servers",
        "sources.users.topic",
        "sources.users.strat",
        "sources.accounts.columns.x",
        "sources.orders.start",
        "sources.orders.key",
        "join.type",
        "join.left",
        "engine.trigger",
        "engine.interval_s",
    ]
    assert sorted(expected) == sorted(problem.split(":")[0] for problem in problems(text))


def test_the_home_of_an_unknown_user(problems: Problems, minimal: str) -> None:
    """It is a problem like any other."""
    message = problems(minimal + "engine: {checkpoint_dir: ~nobody-at-all/x}\n")
    assert message == ("engine.checkpoint_dir: there is no such user's folder (~) (line 5)",)


def test_terminals_are_safe(problems: Problems, minimal: str) -> None:
    """Control characters in a value do not reach the screen."""
    (message,) = problems(minimal.replace("users_v1", '"\\e[31mred"'))
    assert message.isprintable()


def test_the_changelog_is_read_from_its_beginning(load_text: Load, minimal: str) -> None:
    """A separate offset reset has no effect there."""
    config = load_text(minimal + "changelog: {kafka: {auto.offset.reset: latest}}\n")
    message = "changelog.kafka.auto.offset.reset: is not used: a changelog is always read from its beginning"
    assert config.warnings == (message,)
