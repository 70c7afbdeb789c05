"""A secret is never shown, wherever it was put and whatever else is wrong."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.config.conftest import Load

from evertable.config import Server, effective
from evertable.errors import ConfigError
from evertable.secrets import MASK

SECRET = "hunter2-correct-horse"  # noqa: S105 - planted

TEMPLATE = """
app: {app}
kafka: {{bootstrap.servers: {servers}, client.id: {client}, sasl.password: {password}}}
sources:
  users: {{topic: {topic}, key: {key}, start: {start}, columns: {{userId: string, age: {column}}}}}
  accounts: {{topic: a, key: userId, columns: {{userId: string, ts: {{from: {record_field}}}}}}}
join: {{type: {join}, left: {left}}}
engine: {{trigger: {trigger}, interval_s: {interval}, spark: {{spark.x: {setting}}}, checkpoint_dir: {checkpoint}}}
changelog: {{prefix: {prefix}, partitions: {partitions}}}
tables: {{users: {table}}}
server: {{host: {host}, port: {port}, token: {token}, origins: [{origin}], tls: {{certificate: {certificate}, key: k}}}}
logging: {{level: {level}}}
"""
RIGHT = {
    "app": "demo",
    "servers": '"a:1"',
    "client": "me",
    "password": "x",
    "topic": "t",
    "key": "userId",
    "start": "latest",
    "column": "long",
    "record_field": "kafka.timestamp",
    "join": "inner",
    "left": "users",
    "trigger": "realtime",
    "interval": "10",
    "setting": "y",
    "checkpoint": "c",
    "prefix": "p",
    "partitions": "1",
    "level": "info",
    "table": "users_ui",
    "host": "localhost",
    "port": "0",
    "token": "abc",
    "origin": "https://x.example",
    "certificate": "c",
}
FORMS = ("${file:secret}", "${MY_SECRET}", "x${MY_SECRET}y", "${NONE_TOKEN:-" + SECRET + "}", "[${file:secret}]")


def everything_shown(load_text: Load, text: str, env: dict[str, str]) -> str:
    """Returns everything that a load shows, whether it succeeds or not."""
    try:
        config = load_text(text, env, {"secret": SECRET + "\n"})
    except ConfigError as error:
        return "\n".join([str(error), repr(error), *traceback.format_exception(error)])
    return "\n".join([effective(config), repr(config), str(config), repr(config.kafka), *config.warnings])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", RIGHT)
def test_wherever_it_is_put(load_text: Load, place: str, form: str) -> None:
    """Every value may hold it, even an invalid one."""
    quoted = form.replace("[", '["').replace("]", '"]') if form.startswith("[") else f'"{form}"'
    message = everything_shown(load_text, TEMPLATE.format_map(RIGHT | {place: quoted}), {"MY_SECRET": SECRET})
    assert SECRET not in message


@given(st.sets(st.sampled_from(list(RIGHT))), st.sets(st.sampled_from(list(RIGHT))), st.sampled_from(FORMS[:3]))
def test_whatever_else_is_wrong(load_text: Load, secret: set[str], wrong: set[str], form: str) -> None:
    """There are several problems at once, with and without secrets."""
    values = RIGHT | dict.fromkeys(wrong, '"?!"') | dict.fromkeys(secret, f'"{form}"')
    assert SECRET not in everything_shown(load_text, TEMPLATE.format_map(values), {"MY_SECRET": SECRET})


@pytest.mark.parametrize(
    "line",
    [
        f"kafka: {{sasl.password: {SECRET}",
        f"kafka: {{sasl.password: *{SECRET}}}",
        f"kafka: {{sasl.password: !{SECRET} x}}",
        f"kafka: {{sasl.password: @{SECRET}}}",
        f"kafka: {{sasl.password: {{{SECRET}: x}}}}",
        f"kafka: {{sasl.password: {{{SECRET}}}}}",
        f"kafka: {{sasl.password: [[{SECRET}]]}}",
        f"kafka: {{sasl: {{password: {SECRET}, password: {SECRET}}}}}",
        f"kafka: {{sasl.password: a: {SECRET}}}",
        f"kafka: {{bootstrap.servers: 'me:{SECRET}@host:1'}}",
        f"engine: {{spark: {{spark.ssl.keyPassword: [[{SECRET}]]}}}}",
    ],
)
def test_in_a_line_that_is_no_configuration(load_text: Load, line: str) -> None:
    """Passwords that YAML takes for something else are not quoted back."""
    assert SECRET not in everything_shown(load_text, line, {})


def test_masks_stand_where_secrets_are(load_text: Load) -> None:
    """All masks have one length, whatever the secret's; other values are shown."""
    values = RIGHT | {"topic": '"${file:secret}"', "password": '"${MY_SECRET}"', "column": '"${TYPE:-int}"'}
    config = load_text(TEMPLATE.format_map(values), {"MY_SECRET": "s"}, {"secret": SECRET})
    shown = effective(config)
    assert (f"topic: '{MASK}'" in shown, f"sasl.password: '{MASK}'" in shown, "age: int" in shown) == (True, True, True)
    assert (config.left.topic, config.kafka.reveal()["sasl.password"]) == (SECRET, "s")


def test_a_short_secret_is_hidden_where_it_is_wrong(load_text: Load) -> None:
    """Even one of two letters is not echoed by the value's own problem."""
    values = RIGHT | {"trigger": '"${MY_SECRET}"', "left": '"${MY_SECRET}"', "partitions": '"${MY_SECRET}"'}
    message = everything_shown(load_text, TEMPLATE.format_map(values), {"MY_SECRET": "qz"})
    assert "qz" not in message
    assert (
        message.split("Traceback")[0].split("ConfigError(")[0].count("the value (not shown, it may be a secret)") == 3
    )


@pytest.mark.parametrize("token", [SECRET, f"{SECRET} two", f"[{SECRET}]", f"{{{SECRET}: x}}", f"'{SECRET}\u00e9'"])
@pytest.mark.parametrize("variable", ["", "EVERTABLE_TOKEN", "EVERTABLE_SERVER__TOKEN"])
def test_a_token_in_the_clear(load_text: Load, token: str, variable: str) -> None:
    """It is hidden wherever it is, valid or not, and with a host that requires one."""
    for host in ("localhost", "0.0.0.0", "no/host"):  # noqa: S104
        written = RIGHT | {"host": host} | ({"token": "null"} if variable else {"token": token})
        env = {variable: token} if variable else {}
        assert SECRET not in everything_shown(load_text, TEMPLATE.format_map(written), env)
    assert SECRET not in repr(Server.model_validate({"token": SECRET}))


def test_a_secret_in_the_file_itself_is_a_warning(load_text: Load, minimal: str) -> None:
    """One from the environment or another file is not."""
    message = "is a secret in the file itself; write ${VAR} or ${file:path} instead"
    login = "security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: me, sasl.password: %s"
    text = minimal.replace('"localhost:9092"', f'"localhost:9092", {login}')
    assert load_text(text % "hunter2").warnings == (f"kafka.sasl.password: {message}",)
    assert load_text(text % "'${PW}'", {"PW": "hunter2"}).warnings == ()
    spark = load_text(minimal + "engine: {spark: {spark.my.secret.key: hunter2}}\n")
    assert spark.warnings == (f"engine.spark.spark.my.secret.key: {message}",)
