"""Environment variables override values of the file."""

from __future__ import annotations

import pytest
from tests.config.conftest import Load, Problems

from evertable.config import Trigger
from evertable.config.structure import PROPERTIES


def test_a_variable_wins_over_the_file(load_text: Load, minimal: str) -> None:
    """Values at the top, in sections, of sources and of columns, with types of every kind."""
    config = load_text(
        minimal,
        {
            "EVERTABLE_APP": "shop",
            "EVERTABLE_ENGINE__TRIGGER": "microbatch",
            "EVERTABLE_CHANGELOG__PARTITIONS": "3",
            "EVERTABLE_SOURCES__USERS__TOPIC": "users_v2",
            "EVERTABLE_SOURCES__ACCOUNTS__COLUMNS__BALANCE": "decimal(10,2)",
            "EVERTABLE_SOURCES__ACCOUNTS__COLUMNS__USERID": "string",
            "EVERTABLE_SOURCES__ACCOUNTS__COLUMNS__TS__FROM": "kafka.timestamp",
        },
    )
    assert (
        config.app,
        config.engine.trigger,
        config.changelog.partitions,
        config.left.topic,
    ) == ("shop", Trigger.MICROBATCH, 3, "users_v2")
    types = {column.name: str(column.type) for column in config.right.columns}
    assert types == {"userId": "string", "balance": "decimal(10,2)", "ts": "timestamp"}


def test_tables_and_the_server(load_text: Load, minimal: str) -> None:
    """Names of tables by source, in any case; a list as one text with commas; a section that may be missing."""
    config = load_text(
        minimal.replace("users:", "Users:"),
        {
            "EVERTABLE_TABLES__USERS": "people",
            "EVERTABLE_TABLES__JOINED": "all",
            "EVERTABLE_SERVER__PORT": "0",
            "EVERTABLE_SERVER__ORIGINS": "https://a.example, http://b.example:80",
            "EVERTABLE_SERVER__TLS__CERTIFICATE": "/c.pem",
            "EVERTABLE_SERVER__TLS__KEY": "/k.pem",
        },
    )
    assert config.tables == {"Users": "people", "accounts": "accounts_ui", "joined": "all"}
    assert (config.server.port, config.server.origins) == (0, ("https://a.example", "http://b.example"))
    assert config.server.tls is not None
    assert (config.server.tls.certificate, config.server.tls.key) == ("/c.pem", "/k.pem")


def test_the_token_has_a_short_name(load_text: Load, problems: Problems, minimal: str) -> None:
    """``EVERTABLE_TOKEN`` wins over the file, and the long form over it; problems name the one in use."""

    def token(env: dict[str, str]) -> str | None:
        secret = load_text(minimal + "server: {token: in-the-file}\n", env).server.token
        return None if secret is None else secret.get_secret_value()

    assert token({}) == "in-the-file"
    assert token({"EVERTABLE_TOKEN": ""}) == "in-the-file"
    assert token({"EVERTABLE_TOKEN": "short"}) == "short"
    assert token({"EVERTABLE_TOKEN": "short", "EVERTABLE_SERVER__TOKEN": "long"}) == "long"
    (message,) = problems(minimal, {"EVERTABLE_TOKEN": "two words"})
    assert message.endswith("(EVERTABLE_TOKEN)")


def test_a_source_that_the_file_does_not_have(load_text: Load, minimal: str) -> None:
    """It is added, in lower case unless the variable is written otherwise."""
    env = {
        "EVERTABLE_SOURCES__ORDERS__TOPIC": "orders",
        "EVERTABLE_SOURCES__ORDERS__KEY": "orderId",
        "EVERTABLE_SOURCES__ORDERS__COLUMNS__orderId": "long",
    }
    source = load_text(minimal, env).sources["orders"]
    assert (source.topic, source.key, [column.name for column in source.columns]) == ("orders", "orderId", ["orderId"])


@pytest.mark.parametrize(
    "variable",
    [
        "EVERTABLE_KAFKA__SSL_CA_LOCATION",
        "EVERTABLE_KAFKA__SSL__CA__LOCATION",
        "EVERTABLE_KAFKA__ssl_ca_location",
    ],
)
@pytest.mark.parametrize("written", ["ssl.ca.location: /a", "ssl: {ca: {location: /a}}", "client.id: me"])
def test_properties_have_dots(load_text: Load, minimal: str, variable: str, written: str) -> None:
    """``_`` means the dot, and meets the property however the file nests it."""
    text = minimal.replace('"localhost:9092"', f'"localhost:9092", {written}')
    assert load_text(text, {variable: "/b"}).kafka["ssl.ca.location"] == "/b"


def test_properties_with_capitals(load_text: Load, minimal: str) -> None:
    """An existing property matches in any case; a new one keeps its spelling."""
    text = minimal + "engine: {spark: {spark.driver.extraJavaOptions: -Xss1m}}\n"
    env = {
        "EVERTABLE_ENGINE__SPARK__SPARK_DRIVER_EXTRAJAVAOPTIONS": "-Xss2m",
        "EVERTABLE_ENGINE__SPARK__spark_sql_session_timeZone": "UTC",
        "EVERTABLE_ENGINE__SPARK__SPARK_DRIVER_MEMORY": "1g",
    }
    expected = {
        "spark.driver.extraJavaOptions": "-Xss2m",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
    }
    assert expected == load_text(text, env).engine.spark.reveal()


def test_a_value_is_data(load_text: Load, minimal: str) -> None:
    """It is neither expanded nor read as YAML."""
    config = load_text(minimal, {"EVERTABLE_KAFKA__CLIENT_ID": "${HOME}: {a: b}", "HOME": "x"})
    assert config.kafka["client.id"] == "${HOME}: {a: b}"


def test_an_empty_variable_counts_as_not_set(load_text: Load, minimal: str) -> None:
    """Compose files and charts produce them."""
    assert load_text(minimal, {"EVERTABLE_APP": "", "EVERTABLE_NOWHERE__X": ""}).app == "demo"


def test_what_is_not_about_the_configuration_is_left_alone(load_text: Load, minimal: str) -> None:
    """Names without ``__`` may belong to commands, or come from Kubernetes."""
    env = {"EVERTABLE_PORT": "tcp://10.0.0.1:80", "EVERTABLE_KAFKA_PORT": "1", "EVERTABLE_CACHE_DIR": "x", "APP": "y"}
    assert load_text(minimal) == load_text(minimal, env)


def test_variables_that_mean_nothing_are_problems(problems: Problems, minimal: str) -> None:
    """A misspelt one would otherwise go unnoticed; the message names the variable."""
    env = {
        "EVERTABLE_ENGIN__TRIGGER": "x",
        "EVERTABLE_ENGINE__TRIGER": "x",
        "EVERTABLE_ENGINE": "x",
        "EVERTABLE_ENGINE__": "x",
        "EVERTABLE_APP__NAME": "x",
        "EVERTABLE_CHANGELOG__PARTITIONS": "many",
    }
    expected = {
        "EVERTABLE_ENGIN__TRIGGER: there is no section 'engin'; did you mean 'engine'?",
        "engine.triger: is unknown; did you mean 'trigger'? (EVERTABLE_ENGINE__TRIGER)",
        "EVERTABLE_ENGINE: 'engine' is a section; name a key in it, after '__'",
        "EVERTABLE_ENGINE__: 'engine' is a section; name a key in it, after '__'",
        "EVERTABLE_APP__NAME: 'app' is a single value without keys",
        "changelog.partitions: 'many' is not a whole number (EVERTABLE_CHANGELOG__PARTITIONS)",
    }
    assert expected == set(problems(minimal, env))


def test_where_properties_live() -> None:
    """The places are derived from the models, so that new sections have variables, too."""
    expected = [("kafka",), ("sources", "*", "kafka"), ("engine", "spark"), ("changelog", "kafka")]
    assert expected == PROPERTIES
